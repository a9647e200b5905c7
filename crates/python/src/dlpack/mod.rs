//! DLPack: tensors to and from other libraries without a copy, in both forms of its capsules.
//!
//! | file | what is in it |
//! |---|---|
//! | `export` | our tensors in capsules |
//! | `import` | the tensors of capsules |
#![allow(unsafe_code, reason = "the structs and capsules of a C interface")]

mod export;
mod import;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use export::delete_export;
pub(crate) use export::{Request, export};
pub(crate) use import::{import, read_capsule};

/// The version that has all our type codes. Another first number means other structs.
const VERSION: Version = Version { major: 1, minor: 1 };
/// A device as Python's half of the protocol names it: a type and an index.
pub(crate) type DeviceCode = (i32, i32);
/// Where our tensors are.
pub(crate) const CPU: DeviceCode = (1, 0);
/// The type of devices that the protocol has no number for.
pub(crate) const EXTENSION: i32 = 12;
/// Device types whose memory the CPU reads: its own, and what a GPU's driver pinned.
const READABLE: [i32; 3] = [CPU.0, 3, 11];
/// The consumer must not write.
const READ_ONLY: u64 = 1;
/// The memory was made for the consumer, who may write.
const IS_COPIED: u64 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    index: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct View {
    data: *mut c_void,
    device: Device,
    rank: i32,
    dtype: DataType,
    sizes: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

type Deleter<M> = Option<unsafe extern "C" fn(*mut M)>;

/// `DLManagedTensor`, which has no flags.
#[repr(C)]
struct Legacy {
    view: View,
    context: *mut c_void,
    deleter: Deleter<Self>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    version: Version,
    context: *mut c_void,
    deleter: Deleter<Self>,
    flags: u64,
    view: View,
}

/// What the two managed tensors have in common.
trait Managed: Sized + 'static {
    /// The name of a capsule that nobody has read.
    const FRESH: &'static CStr;
    /// The name of a capsule whose tensor has a new owner.
    const USED: &'static CStr;

    fn new(view: View, context: *mut c_void, flags: u64) -> Self;
    fn view(&self) -> &View;
    fn flags(&self) -> u64;
    fn context(&self) -> *mut c_void;
    fn deleter(&self) -> Deleter<Self>;

    /// The version of the structs.
    ///
    /// # Safety
    /// There must be such a struct, of this or any later version.
    unsafe fn version(this: NonNull<Self>) -> Version;
}

impl Managed for Legacy {
    const FRESH: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(view: View, context: *mut c_void, _flags: u64) -> Self {
        Self {
            view,
            context,
            deleter: Some(delete_export),
        }
    }

    fn view(&self) -> &View {
        &self.view
    }

    fn flags(&self) -> u64 {
        0
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Deleter<Self> {
        self.deleter
    }

    unsafe fn version(_this: NonNull<Self>) -> Version {
        VERSION
    }
}

impl Managed for Versioned {
    const FRESH: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(view: View, context: *mut c_void, flags: u64) -> Self {
        Self {
            version: VERSION,
            context,
            deleter: Some(delete_export),
            flags,
            view,
        }
    }

    fn view(&self) -> &View {
        &self.view
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn context(&self) -> *mut c_void {
        self.context
    }

    fn deleter(&self) -> Deleter<Self> {
        self.deleter
    }

    unsafe fn version(this: NonNull<Self>) -> Version {
        // SAFETY: the version is the first field in every version.
        unsafe { this.cast::<Version>().read() }
    }
}

/// A device in DLPack's words.
fn device_name(kind: i32, index: i32) -> String {
    let name = match kind {
        1 => "cpu",
        2 => "CUDA",
        4 => "OpenCL",
        7 => "Vulkan",
        8 => "Metal",
        9 => "VPI",
        10 => "ROCm",
        12 => "extension",
        13 => "CUDA managed",
        14 => "oneAPI",
        15 => "WebGPU",
        16 => "Hexagon",
        17 => "MAIA",
        18 => "Trainium",
        _ => return format!("device type {kind}, index {index}"),
    };
    format!("{name} {index}")
}
