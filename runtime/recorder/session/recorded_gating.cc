#include "runtime/recorder/session/recorded_gating.h"

#include <cstring>

#include "absl/strings/str_format.h"

namespace countrace::runtime {

using logformat::Gating;
using logformat::SessionScope;

Gating GatingOf(const RecordOptions& options) {
  if (options.count) return *options.count;
  Gating gating;
  gating.unmarked = options.system_wide && options.marks.empty();
  return gating;
}

Gating KeptBy(const RecordOptions& options) {
  Gating gating = GatingOf(options);
  if (!gating.nothing()) return gating;
  gating.marked = true;
  gating.unmarked = options.system_wide;
  return gating;
}

bool MarksRoots(const RecordOptions& options) {
  return !options.system_wide || options.marks.empty();
}

SessionScope KernelScope(const RecordOptions& options) {
  return options.system_wide || KeptBy(options).unmarked
             ? SessionScope::kSystem
             : SessionScope::kCommand;
}

absl::Status CheckGating(const RecordOptions& options) {
  const Gating gating = GatingOf(options);
  if (!gating.every_process() && !gating.nothing() && options.marks.empty() &&
      options.command.empty() && options.pids.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--count %s needs marked processes, and none is marked: name some with "
        "--mark, or give a command",
        logformat::GatingText(gating)));
  }
  if (!gating.kernel && !options.kernel_segments.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--kernel %s records kernel code, which --count %s excludes: remove "
        "one of the two",
        options.kernel_segments.front(), logformat::GatingText(gating)));
  }
  if (gating.nothing() && !options.dynamic_hooks.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--hook %s records counts, and --count none counts "
                        "nothing: remove one of the two",
                        options.dynamic_hooks.front()));
  }
  return absl::OkStatus();
}

void DescribeGating(const RecordOptions& options,
                    logformat::SessionControl& control) {
  control.count = logformat::GatingBits(GatingOf(options));
  for (const logformat::MarkSpec& mark : options.marks) {
    const std::string text = logformat::MarkText(mark);
    std::strncpy(control.marks[control.mark_count++], text.c_str(),
                 logformat::kMarkTextBytes - 1);
  }
}

}  // namespace countrace::runtime
