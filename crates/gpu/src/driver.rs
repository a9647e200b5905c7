//! What wgpu hands to the driver as it is: shaders in the driver's language, caches of pipelines, and
//! questions that wgpu does not ask.
#![allow(
    unsafe_code,
    reason = "wgpu cannot check what it hands on: the words come from a compiler that did"
)]

use crate::strict::{Controls, Words};

/// wgpu without windows: nothing where it is not by Vulkan alone, or where there is no loader of it.
///
/// wgpu asks for the extensions of every system of windows, and Mesa's layer that orders devices then
/// looks for a compositor, which complains on the standard error stream of a machine without one.
#[cfg(target_os = "linux")]
pub(crate) fn instance_without_windows(
    description: &wgpu::InstanceDescriptor,
) -> Option<wgpu::Instance> {
    use ash::khr::{wayland_surface, xcb_surface, xlib_surface};
    let wanted = wgpu::hal::InstanceDescriptor {
        name: "wgpu",
        flags: description.flags,
        memory_budget_thresholds: description.memory_budget_thresholds,
        backend_options: description.backend_options.clone(),
        telemetry: None,
        display: None,
    };
    let windows = [wayland_surface::NAME, xcb_surface::NAME, xlib_surface::NAME];
    // SAFETY: what is left out makes surfaces of windows, of which there are none here; wgpu looks
    // for each of the three in this list before it uses it. Nothing else is changed.
    let made = unsafe {
        wgpu::hal::vulkan::Instance::init_with_callback(
            &wanted,
            Some(Box::new(move |asked| {
                asked.extensions.retain(|name| !windows.contains(name));
            })),
        )
    };
    // SAFETY: the instance was made just now, and is handed over whole.
    made.ok()
        .map(|made| unsafe { wgpu::Instance::from_hal::<wgpu::hal::api::Vulkan>(made) })
}

/// A shader of words that naga wrote.
pub(crate) fn shader_module(device: &wgpu::Device, words: &Words) -> wgpu::ShaderModule {
    let entry = wgpu::PassthroughShaderEntryPoint {
        name: "main".into(),
        workgroup_size: (1, 1, 1),
    };
    let description = wgpu::ShaderModuleDescriptorPassthrough {
        entry_points: vec![entry].into(),
        spirv: Some(words.get().into()),
        ..Default::default()
    };
    // SAFETY: `Words` are made by naga of a module that it validated, with checks of bounds, whose
    // bindings are those of the layout; what was added are decorations and modes that the driver has.
    unsafe { device.create_shader_module_passthrough(description) }
}

/// A cache of pipelines, of what an earlier one had.
pub(crate) fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let description = wgpu::PipelineCacheDescriptor {
        label: None,
        data,
        fallback: true,
    };
    // SAFETY: `data` is what such a cache gave for this adapter and driver: the file's checksum says
    // that it is whole, and wgpu and the driver compare their own keys.
    unsafe { device.create_pipeline_cache(&description) }
}

/// How a driver lets floats be controlled; nothing where it is no Vulkan driver.
#[cfg(any(windows, target_os = "linux", target_os = "android"))]
pub(crate) fn float_controls(adapter: &wgpu::Adapter) -> Option<Controls> {
    use ash::vk;
    // SAFETY: nothing is destroyed by hand.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let (instance, device) = (
        hal.shared_instance().raw_instance(),
        hal.raw_physical_device(),
    );
    // SAFETY: the device is one of the instance, which lives as long as `hal`.
    let version = unsafe { instance.get_physical_device_properties(device) }.api_version;
    if version < vk::API_VERSION_1_2 {
        return Some(Controls::default());
    }
    let mut controls = vk::PhysicalDeviceFloatControlsProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut controls);
    // SAFETY: as above; a device of version 1.2 knows the structure.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    let all = vk::ShaderFloatControlsIndependence::NONE;
    let both = |narrow: u32, wide: u32| [narrow != 0, wide != 0];
    Some(Controls {
        preserve: both(
            controls.shader_signed_zero_inf_nan_preserve_float32,
            controls.shader_signed_zero_inf_nan_preserve_float64,
        ),
        subnormals: both(
            controls.shader_denorm_preserve_float32,
            controls.shader_denorm_preserve_float64,
        ),
        nearest: both(
            controls.shader_rounding_mode_rte_float32,
            controls.shader_rounding_mode_rte_float64,
        ),
        subnormals_apart: controls.denorm_behavior_independence != all,
        nearest_apart: controls.rounding_mode_independence != all,
    })
}

/// The bytes of the device's own memory; nothing where that cannot be asked.
#[cfg(any(windows, target_os = "linux", target_os = "android"))]
pub(crate) fn local_memory(adapter: &wgpu::Adapter) -> Option<u64> {
    use ash::vk;
    // SAFETY: nothing is destroyed by hand.
    let hal = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = hal.shared_instance().raw_instance();
    // SAFETY: the device is one of the instance, which lives as long as `hal`.
    let memory =
        unsafe { instance.get_physical_device_memory_properties(hal.raw_physical_device()) };
    let local = memory.memory_heaps_as_slice().iter();
    local
        .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        .map(|heap| heap.size)
        .max()
}

/// wgpu without windows: by Vulkan alone, which is not all that there is.
#[cfg(not(target_os = "linux"))]
pub(crate) fn instance_without_windows(
    _description: &wgpu::InstanceDescriptor,
) -> Option<wgpu::Instance> {
    None
}

/// How a driver lets floats be controlled: not by Vulkan.
#[cfg(not(any(windows, target_os = "linux", target_os = "android")))]
pub(crate) fn float_controls(_adapter: &wgpu::Adapter) -> Option<Controls> {
    None
}

/// The bytes of the device's own memory, which cannot be asked.
#[cfg(not(any(windows, target_os = "linux", target_os = "android")))]
pub(crate) fn local_memory(_adapter: &wgpu::Adapter) -> Option<u64> {
    None
}
