//! How a device is opened, and what the environment says about it.

/// Which optional features of an adapter are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// All that it offers and that pass the probe.
    #[default]
    All,
    /// None: what every device has.
    Portable,
}

/// By what means the arithmetic of shaders is kept as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// By text that leaves a compiler nothing to simplify: every device.
    #[default]
    Portable,
    /// By telling the driver's compiler besides, where it listens.
    Strict,
}

impl Level {
    /// The level in one word, as `ALLOTROPE_GPU_LEVEL` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Strict => "strict",
        }
    }
}

/// How a device is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Which of the devices, from 0 on.
    pub ordinal: usize,
    /// Whether drivers that compute on the CPU count.
    pub software: bool,
    /// Which features are used.
    pub features: Features,
    /// The level; by default strict where the probe finds that the driver listens.
    pub level: Option<Level>,
    /// The bytes that tensors may take; by default a share of what there is.
    pub budget: Option<u64>,
}

impl Options {
    /// What the environment says, for a device by its number.
    #[must_use]
    pub fn from_env(ordinal: usize) -> Self {
        let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
        let features = if is("ALLOTROPE_GPU_FEATURES", "portable") {
            Features::Portable
        } else {
            Features::All
        };
        let mut levels = [Level::Portable, Level::Strict].into_iter();
        let budget = std::env::var("ALLOTROPE_GPU_MEMORY").ok();
        Self {
            ordinal,
            software: is("ALLOTROPE_GPU", "software"),
            features,
            level: levels.find(|level| is("ALLOTROPE_GPU_LEVEL", level.name())),
            budget: budget.and_then(|bytes| bytes.parse().ok()),
        }
    }
}
