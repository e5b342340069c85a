#include "runtime/recorder/kernel/bpf/prices/probe_calibration.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/kernel/bpf/prices/probe_measurement.h"
#include "runtime/recorder/system/kept_measurements.h"

namespace countrace::runtime {
namespace {

using logformat::ProbeCost;
using Place = HookAttachment::Place;
using PartsOfKinds = std::map<ProbeKind, ProbeParts>;

bool IsReturnProbe(const HookAttachment& at) {
  return at.on_return || (!at.function.empty() && at.place == Place::kExit);
}

bool HasReturnProbe(const DynamicHook& hook) {
  return std::any_of(hook.attachments.begin(), hook.attachments.end(),
                     IsReturnProbe);
}

ProbeKind KindOf(const DynamicHook& hook, const HookAttachment& at) {
  const auto texts =
      static_cast<unsigned>(std::popcount(unsigned{at.stored.texts}));
  ProbeKind kind;
  if (at.function.empty()) {
    kind.instruction = InstructionAt(at.file, at.offset);
  } else {
    kind.way = at.traced ? FunctionWay::kTraced : FunctionWay::kProbed;
  }
  kind.returns = HasReturnProbe(hook);
  kind.numbers = at.stored.count - texts;
  kind.texts = texts;
  return kind;
}

// Then each would measure the other's probe, too.
bool ShareFunction(const ProbeKind& a, const ProbeKind& b) {
  return a.instruction == b.instruction &&
         (a.way != FunctionWay::kNone || a.returns == b.returns);
}

bool IsProbe(const HookAttachment& at) {
  return !(at.file.empty() && at.function.empty()) && !IsReturnProbe(at);
}

ProbeCost::Range Sum(const ProbeCost::Range& a, const ProbeCost::Range& b) {
  return {a.ns + b.ns, a.lo + b.lo, a.hi + b.hi};
}

ProbeCost::Range Around(const ProbeCost::Range& a, const ProbeCost::Range& b) {
  return {std::max(a.ns, b.ns), std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

// What a cost depends on: the build of this program, the kernel's compiler of
// BPF programs, and what they do at a probe with `options`.
std::string ProbeConditions(const BpfProgramOptions& options) {
  struct stat program {};
  (void)stat("/proc/self/exe", &program);
  std::string key =
      absl::StrFormat("build=%d:%d:%d.%09d", program.st_dev, program.st_ino,
                      program.st_mtim.tv_sec, program.st_mtim.tv_nsec);
  absl::StrAppendFormat(
      &key, " jit=%d cpus=%d",
      base::ReadNumber("/proc/sys/net/core/bpf_jit_enable").value_or(-1),
      options.cpus.size());
  // A return probe enters the kernel by a system call of its own.
  absl::StrAppendFormat(
      &key, " syscalls=%d faults=%d count=%d marks=%d,%d,%d,%d",
      options.hooks.syscalls, options.fault_records,
      logformat::GatingBits(options.gating), options.follow_marks,
      options.marks.globs().size(), options.marks.uids().size(),
      options.marks.cgroups().size());
  absl::StrAppendFormat(
      &key, " sets=%s events=", absl::StrJoin(options.choice.set_sizes, ","));
  for (const EventSpec& event : options.choice.events) {
    absl::StrAppendFormat(&key, "%d:%x:%x:%x:%d%d,", event.type, event.config,
                          event.config1, event.config2, event.exclude_user,
                          event.exclude_kernel);
  }
  return key;
}

// Those of an earlier recording of this boot; the others are measured, and
// kept.
absl::StatusOr<PartsOfKinds> KeptOrMeasured(
    const BpfProgramOptions& options, const std::vector<ProbeKind>& kinds) {
  using Words =
      std::array<std::uint32_t, sizeof(ProbeParts) / sizeof(std::uint32_t)>;
  const std::string conditions = ProbeConditions(options);
  const auto key = [&conditions](const ProbeKind& kind) {
    return absl::StrFormat("probe=%d,%d,%d,%d,%d %s",
                           static_cast<int>(kind.way),
                           static_cast<int>(kind.instruction), kind.returns,
                           kind.numbers, kind.texts, conditions);
  };
  const KeptMeasurements kept = KeptMeasurements::OfThisBoot();
  PartsOfKinds parts;
  std::vector<ProbeKind> unknown;
  for (const ProbeKind& kind : kinds) {
    const KeptMeasurements::Numbers numbers = kept.Find(key(kind));
    Words words{};
    if (numbers.size() != words.size()) {
      unknown.push_back(kind);
      continue;
    }
    std::copy(numbers.begin(), numbers.end(), words.begin());
    parts.emplace(kind, std::bit_cast<ProbeParts>(words));
  }
  if (unknown.empty()) return parts;
  KeptMeasurements::Entries to_keep;
  while (!unknown.empty()) {
    std::vector<ProbeKind> now, later;
    for (const ProbeKind& kind : unknown) {
      const bool taken = std::any_of(
          now.begin(), now.end(),
          [&](const ProbeKind& other) { return ShareFunction(kind, other); });
      (taken ? later : now).push_back(kind);
    }
    auto measured = MeasureProbes(options, now);
    if (!measured.ok()) return measured.status();
    for (const auto& [kind, of] : *measured) {
      const auto words = std::bit_cast<Words>(of);
      to_keep.push_back({key(kind), {words.begin(), words.end()}});
    }
    parts.merge(*measured);
    unknown = std::move(later);
  }
  // Without a folder for it the next recording measures again.
  (void)kept.Store(to_keep);
  return parts;
}

ProbeCost CostOf(const DynamicHook& hook, const PartsOfKinds& parts) {
  std::optional<ProbeParts> enter, exit;
  const auto add = [](std::optional<ProbeParts>& sum, const ProbeParts& more) {
    if (!sum) {
      sum = more;
      return;
    }
    *sum = {Around(sum->before, more.before), Around(sum->inside, more.inside),
            Around(sum->after, more.after)};
  };
  for (const HookAttachment& at : hook.attachments) {
    if (!IsProbe(at)) continue;
    add(at.place == Place::kExit ? exit : enter, parts.at(KindOf(hook, at)));
  }
  if (!enter) enter = exit;
  if (!enter) return logformat::kUnknownProbeCost;
  if (!exit) exit = enter;
  if (hook.kind == logformat::HookKind::kPoint) {
    return {{}, Sum(enter->before, enter->after)};
  }
  if (HasReturnProbe(hook)) {
    return {enter->inside, Sum(enter->before, enter->after)};
  }
  // Two probes without a return between them.
  return {Sum(enter->after, exit->before), Sum(enter->before, exit->after)};
}

// Those of functions of the kernel, or of programs.
absl::Status Calibrate(const BpfProgramOptions& options, bool of_kernel,
                       KernelHookRequest& hooks) {
  std::vector<ProbeKind> kinds;
  std::vector<DynamicHook*> probed;
  for (DynamicHook& hook : hooks.dynamic) {
    for (const HookAttachment& at : hook.attachments) {
      if (!IsProbe(at) || at.function.empty() == of_kernel) continue;
      hook.cost = logformat::kUnknownProbeCost;
      kinds.push_back(KindOf(hook, at));
      if (probed.empty() || probed.back() != &hook) probed.push_back(&hook);
    }
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  if (kinds.empty() || options.gating.nothing()) return absl::OkStatus();
  const bool rules = !options.hook_rules.rules.empty();
  const auto parts = KeptOrMeasured(options, kinds);
  if (!parts.ok()) return parts.status();
  for (DynamicHook* const hook : probed) {
    hook->cost = CostOf(*hook, *parts);
    // Measured without rules, which save counters or take time to evaluate.
    if (!rules) continue;
    for (ProbeCost::Range* range :
         {&hook->cost->inside, &hook->cost->outside}) {
      range->lo /= 2;
      range->hi *= 2;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CalibrateProbes(const BpfProgramOptions& options,
                             KernelHookRequest& hooks) {
  absl::Status status;
  for (const bool of_kernel : {false, true}) {
    status.Update(Calibrate(options, of_kernel, hooks));
  }
  return status;
}

}  // namespace countrace::runtime
