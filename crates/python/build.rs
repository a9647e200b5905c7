//! Lets the linker keep one copy of functions that came out the same, such as the sums of signed and
//! of unsigned integers. Only Rust's own linker is asked, which is the default on this target.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_PROFILE_RELEASE_STRIP");
    let target = env::var("TARGET").unwrap_or_default();
    if target == "x86_64-unknown-linux-gnu" && has_own_linker(&target) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
    }
    // A package with an `opt-level` of its own does not get the profile's `strip`.
    let strips = env::var("CARGO_PROFILE_RELEASE_STRIP").as_deref() != Ok("none");
    if target.contains("linux") && env::var("PROFILE").as_deref() == Ok("release") && strips {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    }
}

/// Whether the toolchain brings the linker: those of some distributions do not.
fn has_own_linker(target: &str) -> bool {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let root = Command::new(rustc).args(["--print", "sysroot"]).output();
    root.is_ok_and(|root| {
        let root = PathBuf::from(String::from_utf8_lossy(&root.stdout).trim());
        let tools = root.join("lib/rustlib").join(target).join("bin");
        tools.join("gcc-ld/ld.lld").exists()
    })
}
