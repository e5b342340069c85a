#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/posix/file_output.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/directory/disk_room.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/session/record_check.h"
#include "runtime/recorder/session/recorded_gating.h"
#include "runtime/recorder/session/recording.h"
#include "runtime/recorder/system/host_identity.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kFlightHeadroomBytes = 64 << 20;

absl::Status Store(const std::string& path, const std::string& text) {
  base::FileOutput file;
  absl::Status stored = file.Create(path);
  if (stored.ok()) stored = file.WriteAt(0, std::as_bytes(std::span(text)));
  return stored;
}

}  // namespace

using logformat::SessionControl;
using logformat::SessionScope;

std::vector<std::int32_t> Recording::RootPids() const {
  if (!options_.pids.empty() || command_ == nullptr) return options_.pids;
  return {command_->pid()};
}

void Recording::WatchQuotas() {
  for (const std::int32_t pid : RootPids()) quotas_.Watch(pid);
  if (const auto marks = ProcessMarks::Resolve(options_.marks); marks.ok())
    for (const auto& cgroup : marks->cgroups()) quotas_.Watch(cgroup.path);
}

std::vector<std::string> Recording::UnseenQuotaStops() const {
  std::vector<std::string> texts;
  if (kernel_ != nullptr && kernel_->records_hooks()) return texts;  // BPF
  for (const QuotaStops& stops : result_.quota_stops) {
    texts.push_back("throttled " + StopsText(stops) +
                    "; this recording does not show where");
  }
  return texts;
}

absl::Status Recording::FillSession() {
  SessionControl& control = session_.control();
  session_.Describe();
  const auto cgroups = base::ReadSmallFile("/proc/self/cgroup");
  absl::Status stored =
      Store(directory_.path() + "/" + logformat::kHostFile,
            MachineHash() + "\t" + ContainerOf(cgroups.value_or("")) + "\n");
  if (!stored.ok()) return stored;
  control.mode = options_.mode;
  control.scope =
      kernel_ == nullptr ? SessionScope::kHooksOnly : KernelScope(options_);
  DescribeGating(options_, control);
  if (control.scope == SessionScope::kCommand) {
    control.root_pid = RootPids().front();
  }
  // A sub-buffer is a packet: whole pages.
  const auto page = std::max(logformat::kPacketAlignBytes,
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  reserve_.emplace(directory_.path());
  const std::uint64_t sub_buffer_bytes =
      std::max(page, (options_.sub_buffer_bytes + page - 1) / page * page);
  control.sub_buffer_bytes = std::min(
      sub_buffer_bytes, PacketBytesOn(directory_.path(), sub_buffer_bytes));
  control.sub_buffers = std::max(2u, options_.sub_buffers);
  control.max_bytes = options_.max_bytes;
  if (options_.mode == logformat::SessionMode::kFlight) {
    // Room for the data written between two reads, and for prepared
    // sub-buffers.
    control.max_bytes += std::max(options_.max_bytes, kFlightHeadroomBytes);
    flight_.emplace(directory_.steady_path(), options_.max_bytes,
                    options_.flight_ns, control);
  }
  if (kernel_ != nullptr) {
    const std::string events = StoreCpuEvents(kernel_->choice(), control);
    if (!events.empty()) {
      stored =
          Store(directory_.path() + "/" + logformat::kCpuEventsFile, events);
      if (!stored.ok()) return stored;
    }
  }
  StoreThreadEvents(hook_events_, control);
  control.thread_rotate_ns =
      options_.rotate_instances ? 0 : options_.rotate_ns.value_or(kRotateNs);
  std::copy(dump_rules_.begin(), dump_rules_.end(), control.dump_rules);
  control.dump_rule_count = static_cast<std::uint32_t>(dump_rules_.size());
  control.tick_ns = KernelTickNs();
  std::strncpy(control.hook_filter, options_.hook_filter.c_str(),
               sizeof(control.hook_filter) - 1);
  std::string command;
  for (const std::string& argument : options_.command) {
    command += command.empty() ? argument : " " + argument;
  }
  if (!options_.pids.empty()) command = NamesOf(options_.pids);
  std::strncpy(control.command, command.c_str(), sizeof(control.command) - 1);
  return absl::OkStatus();
}

}  // namespace countrace::runtime
