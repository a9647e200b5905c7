//! Work in few submits: dispatches and copies are recorded until someone waits for them.

use allotrope_dtype::Error;
use allotrope_op::{Askers, Lineage};

use crate::device::{Gpu, lock};
use crate::pipeline::Pipeline;

/// Dispatches that are recorded before they are handed over: the driver shall not wait for long.
const MOST: usize = 128;
/// The bytes for the numbers that dispatches are told.
const ROOM: u64 = 256 << 10;

/// Bytes that wait to be copied before the device is waited for.
const MOST_STAGED: u64 = 128 << 20;

/// What is recorded and not yet handed over.
pub(crate) struct Recorder {
    // Before the encoder, which must outlive it.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    numbers: wgpu::Buffer,
    written: Vec<u8>,
    alignment: usize,
    recorded: usize,
    submits: usize,
    dispatches: usize,
    /// Bytes that wait in buffers of their own to be copied.
    staged: u64,
}

impl Recorder {
    pub(crate) fn new(device: &wgpu::Device, limits: &wgpu::Limits) -> Self {
        let numbers = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: ROOM,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            pass: None,
            encoder: None,
            numbers,
            written: Vec::new(),
            alignment: (limits.min_uniform_buffer_offset_alignment as usize).max(16),
            recorded: 0,
            submits: 0,
            dispatches: 0,
            staged: 0,
        }
    }
}

/// A part of a buffer that a shader sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    /// The first byte and how many.
    pub(crate) range: [u64; 2],
    pub(crate) lineage: &'a Lineage,
}

impl Gpu {
    /// How many times work was handed over, and how many dispatches it had.
    #[must_use]
    pub fn submits(&self) -> [usize; 2] {
        let recorder = lock(&self.recorder);
        [recorder.submits, recorder.dispatches]
    }

    /// Records a copy that no device can do, as if a part of the work were refused: what tests of
    /// faults do.
    ///
    /// # Errors
    /// A device error if the device is lost.
    #[doc(hidden)]
    pub fn spoil(&self) -> Result<(), Error> {
        let numbers = lock(&self.recorder).numbers.clone();
        self.record("copy", |encoder| {
            encoder.copy_buffer_to_buffer(&numbers, 0, &numbers, 4, ROOM);
        })
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// A device error if something went wrong in it.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.finish_work("synchronize")
    }

    /// Records commands other than dispatches.
    pub(crate) fn record(
        &self,
        op: &'static str,
        commands: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<(), Error> {
        self.check(op)?;
        let mut recorder = lock(&self.recorder);
        recorder.pass = None;
        commands(
            recorder
                .encoder
                .get_or_insert_with(|| self.device.create_command_encoder(&Default::default())),
        );
        recorder.recorded += 1;
        self.submit_if_full(op, &mut recorder)
    }

    /// Notes bytes that wait to be copied, and waits for them where they are many.
    pub(crate) fn note_staged(&self, op: &'static str, bytes: u64) -> Result<(), Error> {
        let mut recorder = lock(&self.recorder);
        recorder.staged += bytes;
        if recorder.staged <= MOST_STAGED {
            return Ok(());
        }
        recorder.staged = 0;
        self.submit_recorded(op, &mut recorder)?;
        drop(recorder);
        self.wait_for_device(op)
    }

    /// Records a dispatch of so many threads with these numbers.
    pub(crate) fn dispatch(
        &self,
        op: &'static str,
        pipeline: &Pipeline,
        bounds: &[Bound<'_>],
        numbers: &[u32],
        groups: [u32; 2],
    ) -> Result<(), Error> {
        self.check(op)?;
        let mut recorder = lock(&self.recorder);
        let size = numbers.len().next_multiple_of(4) * 4;
        if recorder.written.len() + size > ROOM as usize {
            self.submit_recorded(op, &mut recorder)?;
        }
        let start = recorder.written.len();
        recorder
            .written
            .extend_from_slice(bytemuck::cast_slice(numbers));
        let end = (start + size).next_multiple_of(recorder.alignment);
        // bounded: `ROOM`.
        recorder.written.resize(end, 0);
        let part = |buffer, offset, size| wgpu::BufferBinding {
            buffer,
            offset,
            size: wgpu::BufferSize::new(size),
        };
        let mut entries = Vec::new();
        entries.push(wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(part(
                &recorder.numbers,
                start as u64,
                size as u64,
            )),
        });
        for (bound, binding) in bounds.iter().zip(1..) {
            let [offset, size] = bound.range;
            entries.push(wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(part(bound.buffer, offset, size)),
            });
        }
        // Before it is recorded: work that is refused later takes all others with it.
        let group = self.scoped(|| {
            self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.layout,
                entries: &entries,
            })
        });
        let group = match group {
            Ok(group) => group,
            Err(error) => {
                drop(entries);
                drop(recorder);
                return Err(self.fault(op, error));
            }
        };
        let Recorder { pass, encoder, .. } = &mut *recorder;
        let pass = pass.get_or_insert_with(|| {
            let encoder = encoder
                .get_or_insert_with(|| self.device.create_command_encoder(&Default::default()));
            encoder
                .begin_compute_pass(&Default::default())
                .forget_lifetime()
        });
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups[0], groups[1], 1);
        let askers = bounds.iter().fold(Askers::this_thread(), |askers, bound| {
            askers.and(bound.lineage.askers())
        });
        for written in bounds.iter().skip(pipeline.reads) {
            written.lineage.add(askers);
        }
        recorder.recorded += 1;
        recorder.dispatches += 1;
        self.submit_if_full(op, &mut recorder)
    }

    fn submit_if_full(&self, op: &'static str, recorder: &mut Recorder) -> Result<(), Error> {
        if recorder.recorded >= MOST {
            self.submit_recorded(op, recorder)?;
        }
        Ok(())
    }

    /// Hands over what is recorded.
    fn submit_recorded(&self, op: &'static str, recorder: &mut Recorder) -> Result<(), Error> {
        recorder.pass = None;
        let Some(encoder) = recorder.encoder.take() else {
            return Ok(());
        };
        recorder.recorded = 0;
        recorder.submits += 1;
        let done = self.scoped(|| {
            if !recorder.written.is_empty() {
                self.queue
                    .write_buffer(&recorder.numbers, 0, &recorder.written);
            }
            self.queue.submit([encoder.finish()]);
        });
        recorder.written.clear();
        done.map_err(|error| self.give_up(op, error))
    }

    /// Hands over what is recorded.
    pub(crate) fn submit(&self, op: &'static str) -> Result<(), Error> {
        self.check(op)?;
        self.submit_recorded(op, &mut lock(&self.recorder))
    }

    /// Waits for what was handed over.
    pub(crate) fn wait_for_device(&self, op: &'static str) -> Result<(), Error> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check(op)?;
        polled.map_err(|error| self.fault(op, error))?;
        self.save_pipelines();
        Ok(())
    }

    /// Hands over what is recorded, and waits until all is done.
    pub(crate) fn finish_work(&self, op: &'static str) -> Result<(), Error> {
        self.submit(op)?;
        self.wait_for_device(op)
    }
}
