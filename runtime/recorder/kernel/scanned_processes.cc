// CpuStreams: records of what /proc says of processes: those that exist when
// the recording begins and ends, or whose own records are not enough.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {

using logformat::CpuEvent;

namespace {

// As /proc/PID/stat has it: ticks of boot time.
std::uint64_t TickAt(std::uint64_t time_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return (time_ns + SuspendedNs()) /
         (kSecond / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::vector<ProcessThread> CpuStreams::ScanAtBegin(
    const std::vector<std::int32_t>& root_pids) {
  for (const std::int32_t pid : root_pids) members_.Add(pid, pid);
  scanned_tick_ = TickAt(MonotonicNs());
  std::vector<ProcessThread> all;
  if (gating_.unmarked || !marks_.empty()) {
    all = ScanThreads();
  } else {
    for (const std::int32_t pid : root_pids) {
      for (ProcessThread& thread : ScanThreadsOf(pid)) {
        all.push_back(std::move(thread));
      }
    }
  }
  std::vector<ProcessThread> threads;
  std::int32_t process =
      -1;  // process of these threads; its first thread comes first
  bool marked = false;
  for (ProcessThread& thread : all) {
    if (thread.pid != process) {
      process = thread.pid;
      marked = members_.Contains(process) || marks_.Matches(thread) ||
               (kernel_marks_ && kernel_marks_(process));
    }
    if (marked) members_.Add(thread.pid, thread.tid);
    if (marked || gating_.unmarked) threads.push_back(std::move(thread));
  }
  return threads;
}

void CpuStreams::StoreThreads(const std::vector<ProcessThread>& threads) {
  absl::flat_hash_set<std::int32_t> forked;
  for (const CpuStream& stream : streams_) {
    for (const KernelRecord& record : stream.batch.records()) {
      if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kFork)) {
        forked.insert(stream.batch.Body<logformat::TaskRecord>(record).tid);
      }
    }
  }
  CpuStream& first = streams_.front();
  for (const ProcessThread& thread : threads) {
    if (!forked.contains(thread.tid)) {
      StoreProcessState(first, thread, first.begin_ns);
    }
  }
}

void CpuStreams::StoreProcessState(CpuStream& stream,
                                   const ProcessThread& thread,
                                   std::uint64_t time_ns) {
  logformat::StateRecord record{};
  record.pid = thread.pid;
  record.tid = thread.tid;
  record.parent_pid = thread.parent_pid;
  record.flags =
      (thread.is_kernel_thread ? logformat::kStateKernelThread : 0u) |
      (members_.Contains(thread.tid) ? logformat::kStateMarked : 0u);
  std::memcpy(record.comm, thread.comm.data(),
              std::min(thread.comm.size(), sizeof(record.comm) - 1));
  stream.writer->Append(
      static_cast<std::uint16_t>(CpuEvent::kProcessState), time_ns,
      std::as_bytes(std::span(&record, 1)).subspan(sizeof(record.header)));
  if (thread.tid != thread.pid) return;
  const auto owner = OwnerOf(thread.pid);
  if (owner) StoreOwner(stream, *owner, time_ns);
}

void CpuStreams::StoreOwner(CpuStream& stream,
                            const logformat::OwnerRecord& owner,
                            std::uint64_t time_ns) {
  owners_->Add(owner);
  stream.writer->Append(
      static_cast<std::uint16_t>(CpuEvent::kOwner), time_ns,
      std::as_bytes(std::span(&owner, 1)).subspan(sizeof(owner.header)));
}

void CpuStreams::StoreOwnerAfterExec(CpuStream& stream, std::int32_t pid,
                                     std::uint64_t time_ns) {
  // If it is gone, both are unknown: without a record it would have those of
  // its parent at the fork, but it may have moved since.
  logformat::OwnerRecord unknown{};
  unknown.pid = pid;
  unknown.uid = logformat::kNoUser;
  StoreOwner(stream, OwnerOf(pid).value_or(unknown), time_ns);
}

void CpuStreams::StoreOwners(std::uint64_t horizon_ns) {
  if (!gating_.unmarked && members_.size() == 0) return;
  CpuStream& first = streams_.front();
  // Behind the forks of the other CPUs, and before what is not stored yet.
  first.stored_ns = std::max(first.stored_ns, horizon_ns);
  for (const ProcessThread& thread : ScanThreads()) {
    if (thread.tid != thread.pid || !members_.Counts(thread.pid)) continue;
    const auto owner = OwnerOf(thread.pid);
    if (owner) StoreOwner(first, *owner, first.stored_ns);
  }
}

void CpuStreams::StoreStarted(std::uint64_t until_ns) {
  if (!gating_.every_process()) return;
  CpuStream& first = streams_.front();
  const std::uint64_t from_tick = TickAt(first.begin_ns);
  // The fork record of a later one may not be stored yet.
  const std::uint64_t until_tick = TickAt(until_ns);
  for (const ProcessThread& thread : ScanThreads()) {
    if (thread.start_ticks < from_tick || thread.start_ticks >= until_tick ||
        thread.state == 'Z') {
      continue;
    }
    StoreProcessState(first, thread, first.stored_ns);
  }
}

void CpuStreams::StoreMarked(CpuStream& stream, const ProcessThread& first,
                             std::uint64_t time_ns) {
  std::vector<ProcessThread> threads = ScanThreadsOf(first.pid);
  std::erase_if(threads, [&first](const ProcessThread& thread) {
    return thread.tid == first.tid;
  });
  threads.insert(threads.begin(), first);
  for (const ProcessThread& thread : threads) {
    members_.Add(thread.pid, thread.tid);
    StoreProcessState(stream, thread, time_ns);
  }
  stream.stored_ns = marked_ns_ = time_ns;
}

void CpuStreams::FindLostMembers() {
  if (gating_.every_process()) return;
  // A fork record may be among the lost ones: look for unknown descendants.
  // Parents usually come before their children; repeat until a pass finds none.
  // A child that was there at the scan before was forked when its parent was
  // not marked yet.
  const std::uint64_t tick = TickAt(MonotonicNs());
  const std::vector<ProcessThread> threads = ScanThreads();
  for (bool found = true; found;) {
    found = false;
    std::uint64_t start_tick = 0;  // of the process; its first thread is first
    for (const ProcessThread& thread : threads) {
      if (thread.tid == thread.pid) start_tick = thread.start_ticks;
      if (members_.TakeUnnamed(thread.tid)) found_[thread.tid] = thread;
      if (members_.Contains(thread.tid)) continue;
      // A zombie: if its last records were not lost, it was a member until
      // then, and must not be added again.
      if (thread.state == 'Z' || thread.state == 'X') continue;
      if (!members_.Contains(thread.pid) &&
          !(members_.Contains(thread.parent_pid) &&
            start_tick >= scanned_tick_) &&
          !(kernel_marks_ && kernel_marks_(thread.pid))) {
        continue;
      }
      members_.Add(thread.pid, thread.tid);
      found_[thread.tid] = thread;
      found = true;
    }
  }
  scanned_tick_ = tick;
}

}  // namespace countrace::runtime
