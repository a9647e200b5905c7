//! Which adapters there are, in which order they count, and what they have.

use crate::device::wait;
use crate::driver;

/// The adapters that count, the fastest kind first.
pub(crate) fn adapters(software: bool) -> Vec<wgpu::Adapter> {
    let backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    description.backends = backends;
    description.flags = wgpu::InstanceFlags::empty();
    // Memory that is used up is an error, and no reason to lose the device.
    description.memory_budget_thresholds = wgpu::MemoryBudgetThresholds {
        for_resource_creation: Some(95),
        for_device_loss: Some(99),
    };
    let instance = driver::instance_without_windows(&description)
        .unwrap_or_else(|| wgpu::Instance::new(description));
    let mut adapters = wait(instance.enumerate_adapters(backends));
    let rank = |adapter: &wgpu::Adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    adapters.retain(|adapter| software || rank(adapter) < 4);
    // One device through two interfaces is one device: Vulkan before DX12, whose compiler is slow.
    let has_vulkan = adapters
        .iter()
        .any(|adapter| adapter.get_info().backend == wgpu::Backend::Vulkan);
    adapters.retain(|adapter| !has_vulkan || adapter.get_info().backend != wgpu::Backend::Dx12);
    adapters.sort_by_key(rank);
    adapters
}

/// The name of a device by its number.
pub(crate) fn name_of(ordinal: usize) -> &'static str {
    const NAMES: [&str; 16] = [
        "gpu", "gpu:1", "gpu:2", "gpu:3", "gpu:4", "gpu:5", "gpu:6", "gpu:7", "gpu:8", "gpu:9",
        "gpu:10", "gpu:11", "gpu:12", "gpu:13", "gpu:14", "gpu:15",
    ];
    NAMES.get(ordinal).copied().unwrap_or("gpu:many")
}

/// The bytes that tensors may take by default: drivers promise more memory than there is.
pub(crate) fn share(adapter: &wgpu::Adapter) -> u64 {
    let half_of_ram = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 512)
    };
    let share = match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => driver::local_memory(adapter).map(|all| all / 10 * 9),
        _ => half_of_ram(),
    };
    share.unwrap_or(u64::MAX)
}
