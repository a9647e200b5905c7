//! Files that come back as they were, and files of and for other readers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_io::{Format, Key, Value, load, load_bytes, load_metadata, save, write};
use allotrope_tensor::Tensor;

/// A folder that is removed with its files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("allotrope-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The file as memory: those of these tests are replaced, and never written to.
fn load_mapped(path: impl AsRef<Path>) -> Result<Value, Error> {
    // SAFETY: as said above, and nobody else knows them.
    unsafe { allotrope_io::load_mapped(path) }
}

fn text(name: &str) -> Key {
    Key::Text(name.to_owned())
}

/// Elements with as many different bytes as there are.
fn sample(dtype: DType, sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product::<usize>() * dtype.itemsize();
    let bytes: Vec<u8> = (0..count).map(|i| (i * 37 % 251) as u8).collect();
    Tensor::from_bytes(&bytes, sizes, dtype).unwrap()
}

fn of_every_dtype() -> Value {
    let items = DType::ALL.into_iter().map(|dtype| {
        let tensor = sample(dtype, &[3, 5]);
        (text(dtype.name()), Value::Tensor(tensor))
    });
    Value::Dict(items.collect())
}

fn assert_same(one: &Value, other: &Value) {
    match (one, other) {
        (Value::Tensor(a), Value::Tensor(b)) => {
            assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
            assert_eq!(a.to_bytes().unwrap(), b.to_bytes().unwrap());
        }
        (Value::Dict(a), Value::Dict(b)) => {
            assert_eq!(a.len(), b.len());
            for ((key, one), (other_key, other)) in a.iter().zip(b) {
                assert_eq!(key, other_key);
                assert_same(one, other);
            }
        }
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter()
                .zip(b)
                .for_each(|(one, other)| assert_same(one, other));
        }
        _ => assert_eq!(format!("{one:?}"), format!("{other:?}")),
    }
}

#[test]
fn every_dtype_comes_back_from_every_format_in_every_way() {
    let folder = Folder::new("dtypes");
    let all = of_every_dtype();
    for name in ["all.safetensors", "all.npz", "all"] {
        let path = folder.file(name);
        save(&all, &path, &[]).unwrap();
        assert_same(&load(&path).unwrap(), &all);
        assert_same(&load_mapped(&path).unwrap(), &all);
        assert_same(&load_bytes(&fs::read(&path).unwrap()).unwrap(), &all);
    }
    let Value::Dict(items) = all else { panic!() };
    for (_, one) in items {
        let path = folder.file("one.npy");
        save(&one, &path, &[]).unwrap();
        assert_same(&load(&path).unwrap(), &one);
        assert_same(&load_mapped(&path).unwrap(), &one);
    }
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        4,
        "nothing is left behind"
    );
}

#[test]
fn mapped_tensors_are_views_of_the_file() {
    let folder = Folder::new("map");
    for name in ["x.safetensors", "x.npz"] {
        let path = folder.file(name);
        save(&of_every_dtype(), &path, &[]).unwrap();
        let Value::Dict(items) = load_mapped(&path).unwrap() else {
            panic!()
        };
        for (key, value) in items {
            let Value::Tensor(tensor) = value else {
                panic!()
            };
            assert!(tensor.is_foreign(), "{key:?} in {name} is a copy");
        }
    }
    // The file may be replaced while its old contents are in use.
    let path = folder.file("x.safetensors");
    let old = load_mapped(&path).unwrap();
    save(&Value::Dict(vec![]), &path, &[]).unwrap();
    assert_same(&old, &of_every_dtype());
}

#[test]
fn nested_values_come_back() {
    let x = || Value::Tensor(sample(DType::C128, &[2, 0, 3]));
    let value = Value::Dict(vec![
        (text("a.b"), x()),
        (
            text("a"),
            Value::Dict(vec![(text("b"), x()), (Key::Int(-3), Value::None)]),
        ),
        (text("__metadata__"), x()),
        (
            text("\u{1F600}\"\\\n"),
            Value::List(vec![x(), Value::Tuple(vec![]), Value::Int(7)]),
        ),
        (
            text(""),
            Value::Tuple(vec![
                Value::Float(0.1),
                Value::Float(-0.0),
                Value::Bool(true),
            ]),
        ),
        (Key::Int(0), Value::Float(f64::NEG_INFINITY)),
        (Key::Int(1), Value::Complex(f64::NAN, 1e300)),
        (Key::Int(2), Value::Text("\u{0}\u{7F}é".to_owned())),
        (Key::Int(3), Value::Int(i128::MIN)),
        (Key::Int(4), Value::Dict(vec![])),
    ]);
    for value in [
        value,
        x(),
        Value::List(vec![]),
        Value::None,
        Value::Dict(vec![]),
    ] {
        let mut bytes = Vec::new();
        let metadata = [("key".to_owned(), "\u{1}text".to_owned())];
        write(&value, Format::Safetensors, &metadata, &mut bytes).unwrap();
        assert_same(&load_bytes(&bytes).unwrap(), &value);
        assert_eq!(allotrope_io::load_metadata_bytes(&bytes).unwrap(), metadata);
        // The reference implementation accepts what is written.
        safetensors::SafeTensors::deserialize(&bytes).unwrap();
    }
}

#[test]
fn the_reference_implementation_reads_the_same_bytes() {
    let mut bytes = Vec::new();
    let all = of_every_dtype();
    write(&all, Format::Safetensors, &[], &mut bytes).unwrap();
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for dtype in DType::ALL {
        let view = theirs.tensor(dtype.name()).unwrap();
        assert_eq!(view.data(), sample(dtype, &[3, 5]).to_bytes().unwrap());
        let (name, sizes): (&str, &[usize]) = match dtype.descriptor().safetensors_name {
            Some(name) => (name, &[3, 5]),
            None => ("F64", &[3, 5, 2]),
        };
        assert_eq!(
            (format!("{:?}", view.dtype()).as_str(), view.shape()),
            (name, sizes)
        );
    }
}

#[test]
fn files_of_the_reference_implementation_are_read() {
    use safetensors::tensor::{Dtype, TensorView};
    let data: Vec<u8> = (0..24).collect();
    let views = [
        (
            "b",
            TensorView::new(Dtype::U8, vec![3], &data[..3]).unwrap(),
        ),
        ("a", TensorView::new(Dtype::F32, vec![2, 3], &data).unwrap()),
        (
            "empty",
            TensorView::new(Dtype::BF16, vec![4, 0], &[]).unwrap(),
        ),
    ];
    let metadata = [("format".to_owned(), "pt".to_owned())];
    let bytes = safetensors::serialize(views, Some(metadata.into_iter().collect())).unwrap();
    let folder = Folder::new("theirs");
    let path = folder.file("theirs.safetensors");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(
        load_metadata(&path).unwrap(),
        [("format".to_owned(), "pt".to_owned())]
    );
    let Value::Dict(items) = load_mapped(&path).unwrap() else {
        panic!()
    };
    assert_eq!(items.len(), 3);
    for (key, value) in items {
        let Value::Tensor(tensor) = value else {
            panic!()
        };
        let (dtype, sizes, count): (_, &[usize], _) = match key {
            key if key == text("a") => (DType::F32, &[2, 3], 24),
            key if key == text("b") => (DType::U8, &[3], 3),
            _ => (DType::BF16, &[4, 0], 0),
        };
        assert_eq!((tensor.dtype(), &tensor.shape()[..]), (dtype, sizes));
        assert_eq!(tensor.to_bytes().unwrap(), data[..count]);
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let x = Value::Tensor(sample(DType::F32, &[2]));
    let try_write = |value: &Value, format, metadata: &[(String, String)]| {
        let error = write(value, format, metadata, &mut Vec::new()).unwrap_err();
        (error.kind(), error.to_string())
    };
    let ours = [("allotrope".to_owned(), String::new())];
    let (kind, message) = try_write(&x, Format::Safetensors, &ours);
    assert_eq!(kind, ErrorKind::Value);
    assert!(
        message.starts_with("save: cannot be saved: metadata under"),
        "{message}"
    );
    let theirs = [("a".to_owned(), String::new())];
    assert_eq!(try_write(&x, Format::Npy, &theirs).0, ErrorKind::Value);
    assert_eq!(try_write(&x, Format::Npz, &[]).0, ErrorKind::Value);
    assert_eq!(
        try_write(&Value::List(vec![x.clone()]), Format::Npy, &[]).0,
        ErrorKind::Value
    );
    let mut deep = x;
    for _ in 0..70 {
        deep = Value::List(vec![deep]);
    }
    assert_eq!(
        try_write(&deep, Format::Safetensors, &[]).0,
        ErrorKind::Value
    );
}

#[test]
fn an_error_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new("refused");
    let path = folder.file("x.npy");
    let x = Value::Tensor(sample(DType::F32, &[2]));
    save(&x, &path, &[]).unwrap();
    save(&Value::List(vec![]), &path, &[]).unwrap_err();
    assert_same(&load(&path).unwrap(), &x);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    let error = save(&x, folder.file("no/such/folder"), &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    let error = save(&x, &folder.0, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert_eq!(load(&folder.0).unwrap_err().kind(), ErrorKind::File);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("links");
    let (path, link) = (folder.file("x.npy"), folder.file("link.npy"));
    let x = |count| Value::Tensor(sample(DType::U8, &[count]));
    save(&x(1), &path, &[]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("x.npy", &link).unwrap();
    save(&x(2), &link, &[]).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_same(&load(&path).unwrap(), &x(2));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    save(&x(2), std::path::Path::new("/dev/null"), &[]).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
