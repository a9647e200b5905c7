//! Shaders that are compiled once, by a key that says what they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use allotrope_dtype::Error;

use crate::device::{Gpu, lock};
use crate::error::failed;

/// A compiled shader and what it binds.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// All that were compiled, those that the driver refused among them: the driver would only refuse
/// them again, and may lose the device over it.
#[derive(Default)]
pub(crate) struct Pipelines {
    known: Mutex<HashMap<String, Entry>>,
}

/// A shader, nothing where none was written, or why the driver refused it.
type Entry = Result<Option<Arc<Pipeline>>, String>;

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

impl Gpu {
    /// How many shaders were compiled.
    #[must_use]
    pub fn pipeline_count(&self) -> usize {
        lock(&self.pipelines.known).len()
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
        let mut known = lock(&self.pipelines.known);
        let entry = match known.get(key) {
            Some(entry) => entry.clone(),
            None => {
                let shader = write();
                let entry = shader.map(|shader| self.compile(&shader).map(Arc::new));
                let entry = entry.transpose();
                known.insert(key.to_owned(), entry.clone());
                entry
            }
        };
        drop(known);
        self.check(op)?;
        entry.map_err(|reason| failed(op, self.name, reason))
    }

    fn compile(&self, shader: &Shader) -> Result<Pipeline, String> {
        let made = self.scoped(|| {
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
            let layout = self.device.create_bind_group_layout(&layout);
            let whole = wgpu::PipelineLayoutDescriptor {
                bind_group_layouts: &[Some(&layout)],
                ..Default::default()
            };
            let whole = self.device.create_pipeline_layout(&whole);
            let source = wgpu::ShaderSource::Wgsl(shader.text.as_str().into());
            let module = wgpu::ShaderModuleDescriptor {
                label: None,
                source,
            };
            let module = self.device.create_shader_module(module);
            let pipeline = wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&whole),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            };
            Pipeline {
                pipeline: self.device.create_compute_pipeline(&pipeline),
                layout,
            }
        });
        made.map_err(|error| format!("a shader was refused: {error}"))
    }
}
