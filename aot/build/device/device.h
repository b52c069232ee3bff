#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/emit/text/emitted_file.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::build {

// The device that a text names: "opencl", "opencl:1".
struct DeviceName {
  std::string library;  // "opencl"
  std::size_t index = 0;
};

// Returns what is wrong with the text; nothing where it names a device.
std::string device_name_fault(const std::string& text);
DeviceName device_named(const std::string& text);

// The language and target of devices that a library knows by this name: "opencl", "cuda".
Language language_of_device(std::string_view library);

// The items of a group that bounds one box, unless the device is a processor: two warps of
// NVIDIA's, one of AMD's.
constexpr int kDeviceItems = 64;
// The most that may be asked for, which all of CUDA's devices have.
constexpr int kMostItems = 1024;

// The options of a plan for devices: what they have in common with those of this processor, and how
// code for a device is planned. Throws: BF3112 where they ask for what devices do not have.
CompileOptions for_device(CompileOptions options, Language language, int items = kDeviceItems);

// The source for the device with all that it includes, as its compiler takes it: of a verifier, or
// of a source that includes headers of the runtime.
std::string device_text(const Lowered& lowered);
std::string device_text(Language language, const std::string& source);

// The source of entry points that a header of the runtime has for devices, with all that it
// includes, and the probe, for groups of so many items.
std::string device_kernels_text(Language language, int items, std::string_view header);

// The files of a verifier for a device: source and header first; no manifest.
std::vector<emit::EmittedFile> device_files(const Lowered& lowered, const std::string& stem);

}  // namespace bf_aot::build
