//! Lets the linker keep one copy of functions that came out the same, such as the sums of signed and
//! of unsigned integers, and pack the list of addresses in tables, 0.4 MB, into 5 KB. Only Rust's own
//! linker is asked, which is the default on this target.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_PROFILE_RELEASE_STRIP");
    let target = env::var("TARGET").unwrap_or_default();
    if target == "x86_64-unknown-linux-gnu" && has_own_linker(&target) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--icf=all");
        if env::var("HOST").as_ref() == Ok(&target) && library_version() >= Some((2, 36)) {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,pack-relative-relocs");
        }
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

/// The version of the C library here: glibc reads packed lists from 2.36 on. A wheel for older ones
/// is built where there is an older one, as always.
fn library_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
