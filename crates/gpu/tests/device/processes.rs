//! What needs a process of its own: no driver, variables of the environment, forks. A test runs itself
//! again in one, which is told so by a variable.

use std::path::Path;
use std::process::Command;

use allotrope_dtype::{DType, ErrorKind};
use allotrope_gpu::{device, device_count};
use allotrope_op::Backend;

use crate::support::{Pair, alone, devices, read};

/// Whether this is the process that a test runs itself again in.
fn is_again() -> bool {
    std::env::var_os("ALLOTROPE_TEST_PROCESS").is_some()
}

/// Runs a test of this file again with variables, and gives what it wrote to the standard error stream;
/// nothing in the process that runs it.
fn again(test: &str, variables: &[(&str, &str)]) -> Option<String> {
    if is_again() {
        return None;
    }
    if devices().is_empty() || cfg!(not(target_os = "linux")) {
        return Some(String::new());
    }
    let _alone = alone();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("timeout");
    command.arg("120").arg(program);
    command.args(["--exact", &format!("processes::{test}"), "--nocapture"]);
    command.env("ALLOTROPE_TEST_PROCESS", "1");
    command.env("ALLOTROPE_GPU", "software");
    for (name, value) in variables {
        command.env(name, value);
    }
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{} {text}", done.status);
    Some(text)
}

#[test]
fn no_adapter() {
    let none = "/nonexistent.json";
    let variables = [
        ("VK_ICD_FILENAMES", none),
        ("VK_DRIVER_FILES", none),
        ("VK_ADD_DRIVER_FILES", ""),
    ];
    if again("no_adapter", &variables).is_some() {
        return;
    }
    assert_eq!(device_count(), 0);
    for _ in 0..2 {
        let error = device(0).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::Device);
        let text = error.to_string();
        assert!(text.contains("no such device: 'gpu'"), "{text}");
        assert!(text.contains("install a Vulkan driver"), "{text}");
    }
    // The CPU needs none.
    let x = allotrope_cpu::CPU.upload("test", DType::U8, &[1]).unwrap();
    assert_eq!(read(&x, DType::U8, 1), [1]);
}

#[test]
fn drivers_are_asked_in_silence() {
    let variables = [("XDG_RUNTIME_DIR", ""), ("WAYLAND_DISPLAY", "")];
    if let Some(text) = again("drivers_are_asked_in_silence", &variables) {
        assert!(!text.contains("XDG_RUNTIME_DIR"), "{text}");
        return;
    }
    assert!(device_count() > 0);
    device(0).unwrap();
}

#[test]
fn a_device_is_opened_anew_by_its_name() {
    if again("a_device_is_opened_anew_by_its_name", &[]).is_some() {
        return;
    }
    let first = device(0).unwrap();
    assert!(std::ptr::eq(first, device(0).unwrap()));
    first.lose();
    let second = device(0).unwrap();
    assert!(!std::ptr::eq(first, second));
    let x = Pair::sample(second, DType::F32, &[10], 81);
    assert_eq!(read(&x.gpu, DType::F32, 10), read(&x.cpu, DType::F32, 10));
}

#[test]
fn compiled_shaders_are_kept_on_disk() {
    let folder = std::env::temp_dir().join(format!("allotrope-cache-{}", std::process::id()));
    let path = folder.to_string_lossy().into_owned();
    let name = "compiled_shaders_are_kept_on_disk";
    let files = |folder: &Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    if is_again() {
        let gpu = device(0).unwrap();
        let x = Pair::sample(gpu, DType::F32, &[10], 82);
        let made = gpu.copy("copy", DType::F32, x.on_gpu()).unwrap();
        assert_eq!(read(&made, DType::F32, 10), read(&x.cpu, DType::F32, 10));
        return;
    }
    let variables = [("ALLOTROPE_GPU_CACHE", path.as_str())];
    again(name, &variables);
    let written = files(&folder);
    if written.is_empty() {
        eprintln!("skipped: the driver hands out no compiled shaders");
        return;
    }
    assert_eq!(written.len(), 1, "{written:?}");
    // Read again; cut short; nonsense; a folder in its place.
    again(name, &variables);
    let bytes = std::fs::read(&written[0]).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], b"nonsense", b""] {
        std::fs::write(&written[0], damaged).unwrap();
        again(name, &variables);
    }
    std::fs::remove_file(&written[0]).unwrap();
    std::fs::create_dir(&written[0]).unwrap();
    again(name, &variables);
    std::fs::remove_dir_all(&folder).unwrap();
    let home = [("ALLOTROPE_GPU_CACHE", "off"), ("XDG_CACHE_HOME", &path)];
    again(name, &home);
    // Drivers have caches of their own there.
    assert!(!folder.join("allotrope").exists());
    std::fs::remove_dir_all(&folder).ok();
}

#[test]
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a fork")]
fn a_fork_has_its_own_device() {
    if again("a_fork_has_its_own_device", &[]).is_some() {
        return;
    }
    let gpu = device(0).unwrap();
    let x = Pair::sample(gpu, DType::F32, &[10], 83);
    let y = Pair::sample(gpu, DType::F32, &[10], 84);
    // SAFETY: the child uses the device and the memory of this process no more than a user would, and
    // ends without the parent's handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let work = || {
            let mut bytes = [0; 40];
            let error = gpu.download("item", DType::F32, x.on_gpu(), &mut bytes);
            let text = error.expect_err("of another process").to_string();
            assert!(text.contains("forked"), "{text}");
            assert!(gpu.finish().is_err());
            assert!(gpu.copy("copy", DType::F32, x.on_gpu()).is_err());
            drop(y);
            match device(0) {
                Ok(own) => {
                    assert!(!std::ptr::eq(own, gpu));
                    let z = Pair::sample(own, DType::F32, &[10], 85);
                    assert_eq!(read(&z.gpu, DType::F32, 10), read(&z.cpu, DType::F32, 10));
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Device, "{error}"),
            }
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours to write to.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, status), (child, 0), "the child failed");
    assert_eq!(read(&x.gpu, DType::F32, 10), read(&x.cpu, DType::F32, 10));
}
