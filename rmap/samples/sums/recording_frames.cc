#include "rmap/samples/sums/recording_frames.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"

namespace countrace::rmap {
namespace {

enum class Part : std::uint8_t {
  kNone,
  kCaller,  // calls BPF programs, of other tools too
  kProgram,
  kTrap
};

// "bpf_prog_6deef7357e7b4530_on_switch": the recorder's begin with "on_".
bool IsOwnProgram(std::string_view name) {
  constexpr std::string_view kPrefix = "bpf_prog_";
  constexpr std::size_t kTagDigits = 16;
  return name.starts_with(kPrefix) &&
         name.size() > kPrefix.size() + kTagDigits &&
         name.substr(kPrefix.size() + kTagDigits).starts_with("_on_");
}

// How a uprobe enters the kernel: its breakpoint, the step behind it, and the
// system calls of newer kernels, on x86-64 and arm64.
constexpr std::array<std::string_view, 7> kTraps = {
    "asm_exc_int3",         "asm_exc_debug",      "__x64_sys_uretprobe",
    "__x64_sys_uprobe",     "uprobe_brk_handler", "uprobe_breakpoint_handler",
    "uprobe_notify_resume",
};
constexpr char kSteppedCode[] = "[uprobes]";  // of instructions that they step

class Parts {
 public:
  Parts(bool has_probes, const Samples& samples)
      : has_probes_(has_probes), samples_(samples) {}

  Part Of(const StackFrame& frame) const {
    const std::string& path = samples_.files[frame.file].path;
    if (path == kSteppedCode) return has_probes_ ? Part::kTrap : Part::kNone;
    if (path != logformat::kKernelCode) return Part::kNone;
    const CodeSymbol* const symbol = RecordedSymbol(samples_, frame);
    if (symbol == nullptr) return Part::kNone;
    const std::string_view name = symbol->name;
    if (IsOwnProgram(name)) return Part::kProgram;
    if (name.starts_with("bpf_trace_run") || name.starts_with("__bpf_trace_") ||
        name.starts_with("bpf_trampoline_")) {
      return Part::kCaller;
    }
    const bool trap =
        has_probes_ && std::ranges::find(kTraps, name) != kTraps.end();
    return trap ? Part::kTrap : Part::kNone;
  }

 private:
  const bool has_probes_;
  const Samples& samples_;
};

// Returns the frame that stands for each: itself, or one of kRecordingCode.
// Empty: no stack has such a frame.
std::vector<std::uint32_t> JoinFrames(bool has_probes, Samples& samples) {
  const Parts parts(has_probes, samples);
  std::vector<Part> of_frame(samples.frames.size(), Part::kNone);
  std::vector<bool> joined(samples.frames.size());
  bool any = false;
  for (std::uint32_t frame = 1; frame < samples.frames.size(); ++frame) {
    of_frame[frame] = parts.Of(samples.frames[frame]);
    if (of_frame[frame] != Part::kProgram && of_frame[frame] != Part::kTrap) {
      continue;
    }
    any = true;
    joined[frame] = true;
    for (std::uint32_t caller = samples.frames[frame].parent;
         of_frame[caller] == Part::kCaller;
         caller = samples.frames[caller].parent) {
      joined[caller] = true;
    }
  }
  if (!any) return {};
  const auto file = static_cast<std::uint32_t>(samples.files.size());
  samples.files.push_back({logformat::kRecordingCode, ""});
  std::vector<std::uint32_t> stands_for(samples.frames.size());
  for (std::uint32_t frame = 1; frame < stands_for.size(); ++frame) {
    const std::uint32_t parent = samples.frames[frame].parent;
    if (joined[parent]) {
      joined[frame] = true;
      stands_for[frame] = stands_for[parent];
    } else {
      stands_for[frame] = frame;
      if (joined[frame]) samples.frames[frame] = {parent, file, 0, 0};
    }
  }
  return stands_for;
}

}  // namespace

std::vector<std::uint32_t> JoinRecording(bool has_probes, Samples& samples) {
  std::vector<std::uint32_t> stands_for = JoinFrames(has_probes, samples);
  if (stands_for.empty()) return {};
  for (TimedSample& sample : samples.timed) {
    sample.frame = stands_for[sample.frame];
  }
  for (SampleSum& sum : samples.sums) sum.frame = stands_for[sum.frame];
  const auto key = [](const SampleSum& sum) {
    return std::tie(sum.event, sum.context, sum.frame);
  };
  std::stable_sort(
      samples.sums.begin(), samples.sums.end(),
      [&](const SampleSum& a, const SampleSum& b) { return key(a) < key(b); });
  std::vector<SampleSum> sums;
  for (const SampleSum& sum : samples.sums) {
    if (sums.empty() || key(sums.back()) != key(sum)) {
      sums.push_back(sum);
      continue;
    }
    sums.back().hits += sum.hits;
    sums.back().second_hits += sum.second_hits;
    sums.back().periods += sum.periods;
    sums.back().squared_periods += sum.squared_periods;
  }
  samples.sums = std::move(sums);
  return stands_for;
}

}  // namespace countrace::rmap
