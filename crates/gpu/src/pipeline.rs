//! Shaders that are compiled once, by a key that says what they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use allotrope_dtype::Error;
use allotrope_op::wgsl::NATIVE_FLOAT16;

use crate::device::{Gpu, lock};
use crate::error::failed;
use crate::options::Level;
use crate::{driver, strict};

/// A compiled shader and what it binds.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
    /// How many buffers it reads, which are bound before those that it writes.
    pub(crate) reads: usize,
}

/// Shaders that are kept; beyond them those go that were not used for longest.
const MOST: usize = 1024;

/// All that were compiled, those that the driver refused among them: the driver would only refuse
/// them again, and may lose the device over it.
#[derive(Default)]
pub(crate) struct Pipelines {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    known: HashMap<String, Known>,
    clock: u64,
}

struct Known {
    entry: Entry,
    used: u64,
}

/// A shader, nothing where none was written, or why the driver refused it.
type Entry = Result<Option<Arc<Pipeline>>, String>;

/// Shaders that devices were lost over, by the adapter's name and their keys: no device of this
/// process tries them again.
static FATAL: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

impl Table {
    fn get(&mut self, key: &str) -> Option<Entry> {
        self.clock += 1;
        let known = self.known.get_mut(key)?;
        known.used = self.clock;
        Some(known.entry.clone())
    }

    /// Adds one, and forgets a quarter where there are too many. What was refused is kept.
    fn add(&mut self, key: &str, entry: Entry) {
        let used = self.clock;
        self.known.insert(key.to_owned(), Known { entry, used });
        if self.known.len() <= MOST {
            return;
        }
        let mut times: Vec<u64> = self.known.values().map(|known| known.used).collect();
        let (_, oldest, _) = times.select_nth_unstable(MOST / 4);
        let oldest = *oldest;
        self.known
            .retain(|_, known| known.used > oldest || known.entry.is_err());
    }
}

/// The text of a shader, and how many buffers it reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shader {
    /// The text in WGSL.
    pub(crate) text: String,
    /// How many buffers are read.
    pub(crate) reads: usize,
    /// How many buffers are written, which come after them.
    pub(crate) writes: usize,
}

impl Shader {
    /// What a pipeline says about the constants of the text, for a device that may have conversions
    /// of float16.
    pub(crate) fn constants(&self, halves: bool) -> Option<(&'static str, f64)> {
        let has = self.text.contains(&format!("override {NATIVE_FLOAT16}:"));
        has.then_some((NATIVE_FLOAT16, f64::from(u8::from(halves))))
    }
}

/// Writes a text to the folder of a variable, under a name that it alone has.
fn dump(text: &str) {
    use std::hash::{DefaultHasher, Hash, Hasher};
    if let Some(folder) = std::env::var_os("ALLOTROPE_GPU_DUMP") {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let name = format!("{:016x}.wgsl", hasher.finish());
        std::fs::write(std::path::Path::new(&folder).join(name), text).ok();
    }
}

impl Gpu {
    /// How many shaders are kept.
    #[must_use]
    pub fn pipeline_count(&self) -> usize {
        lock(&self.pipelines.table).known.len()
    }

    /// The shader of a key, written and compiled when it is first asked for.
    pub(crate) fn pipeline(
        &self,
        op: &'static str,
        key: &str,
        write: impl FnOnce() -> Option<Shader>,
    ) -> Result<Arc<Pipeline>, Error> {
        let found = self.pipeline_if(op, key, write)?;
        found.ok_or_else(|| failed(op, self.name, "the operation has no shader"))
    }

    /// The same, or nothing where none is written.
    pub(crate) fn pipeline_if(
        &self,
        op: &'static str,
        key: &str,
        write: impl FnOnce() -> Option<Shader>,
    ) -> Result<Option<Arc<Pipeline>>, Error> {
        self.check(op)?;
        let mut table = lock(&self.pipelines.table);
        let entry = match table.get(key) {
            Some(entry) => entry,
            None => {
                let entry = self.compile_new(key, write);
                table.add(key, entry.clone());
                entry
            }
        };
        drop(table);
        self.check(op)?;
        entry.map_err(|reason| failed(op, self.name, reason))
    }

    fn compile_new(&self, key: &str, write: impl FnOnce() -> Option<Shader>) -> Entry {
        let is_fatal = |(adapter, known): &(String, String)| {
            *adapter == self.info.name && known.as_str() == key
        };
        if lock(&FATAL).iter().any(is_fatal) {
            return Err("a shader was refused: the device was lost over it before".to_owned());
        }
        // What was lost before is not the shader's fault.
        self.device.poll(wgpu::PollType::Poll).ok();
        let was_lost = self.is_lost();
        let Some(shader) = write() else {
            return Ok(None);
        };
        dump(&shader.text);
        let made = self.compile(&shader);
        // A driver that refuses a shader may lose the device, and say nothing else about it.
        self.device.poll(wgpu::PollType::Poll).ok();
        if self.is_lost() && !was_lost {
            lock(&FATAL).push((self.info.name.clone(), key.to_owned()));
        }
        made.map(|pipeline| Some(Arc::new(pipeline)))
    }

    fn compile(&self, shader: &Shader) -> Result<Pipeline, String> {
        let refused = |reason: String| format!("a shader was refused: {reason}");
        let halves = self.numerics.halves;
        let words = match self.level() {
            Level::Portable => None,
            Level::Strict => {
                let words = strict::compile(shader, self.controls, self.offers(), halves);
                Some(words.map_err(refused)?)
            }
        };
        let mut cache = lock(&self.cache);
        let made = self.scoped(|| {
            let layout = self.binding_layout(shader);
            let whole = wgpu::PipelineLayoutDescriptor {
                bind_group_layouts: &[Some(&layout)],
                ..Default::default()
            };
            let whole = self.device.create_pipeline_layout(&whole);
            let module = match &words {
                Some(words) => driver::shader_module(&self.device, words),
                None => {
                    let source = wgpu::ShaderSource::Wgsl(shader.text.as_str().into());
                    let label = None;
                    let module = wgpu::ShaderModuleDescriptor { label, source };
                    self.device.create_shader_module(module)
                }
            };
            // What is SPIR-V already has none left.
            let constants = shader.constants(halves).filter(|_| words.is_none());
            let pipeline = wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&whole),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: constants.as_slice(),
                    zero_initialize_workgroup_memory: false,
                },
                cache: cache.as_ref().map(|cache| &cache.pipelines),
            };
            Pipeline {
                pipeline: self.device.create_compute_pipeline(&pipeline),
                layout,
                reads: shader.reads,
            }
        });
        if let Some(cache) = cache.as_mut() {
            cache.note();
        }
        made.map_err(|error| refused(error.to_string()))
    }

    /// What a shader binds: its numbers, what it reads, what it writes.
    fn binding_layout(&self, shader: &Shader) -> wgpu::BindGroupLayout {
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        let kinds = [wgpu::BufferBindingType::Uniform].into_iter();
        let kinds = kinds.chain(std::iter::repeat_n(storage(true), shader.reads));
        let kinds = kinds.chain(std::iter::repeat_n(storage(false), shader.writes));
        let entries: Vec<wgpu::BindGroupLayoutEntry> = kinds
            .zip(0..)
            .map(|(ty, binding)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries,
        };
        self.device.create_bind_group_layout(&layout)
    }

    /// Writes what the driver has compiled to disk, where it hands it out.
    pub(crate) fn save_pipelines(&self) {
        if let Some(cache) = lock(&self.cache).as_mut() {
            cache.save();
        }
    }

    /// Compiles a shader of no operation, which reads no buffer and writes one; `is_fatal` as if the
    /// driver lost the device over it. What tests of faults do.
    ///
    /// # Errors
    /// A device error if it is refused.
    #[doc(hidden)]
    pub fn compile_text(&self, key: &str, text: &str, is_fatal: bool) -> Result<(), Error> {
        let shader = || {
            if is_fatal {
                self.device.destroy();
            }
            let text = text.to_owned();
            Some(Shader {
                text,
                reads: 0,
                writes: 1,
            })
        };
        self.pipeline("compile", key, shader).map(|_| ())
    }
}
