// More than 400 lines: one class, a function for each kind of record that a
// CPU's stream follows.
#include "runtime/recorder/kernel/cpu_streams.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/directory/disk_room.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;
using logformat::CpuEvent;

std::int32_t PrevTid(const RecordBatch& batch, const KernelRecord& record) {
  return static_cast<std::int32_t>(*batch.Words(record) & 0xffffff);
}
std::int32_t NextTid(const RecordBatch& batch, const KernelRecord& record) {
  return static_cast<std::int32_t>(*batch.Words(record) >> 24 & 0xffffff);
}

// The thread that ran on the CPU when it caused `record`; -1 if none is known.
std::int32_t ActingThread(const RecordBatch& batch,
                          const KernelRecord& record) {
  // The tid is in the same bits as a dispatch's switched-out thread.
  if (logformat::IsKernelHookEvent(record.event_id)) {
    return PrevTid(batch, record);
  }
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch:
      return PrevTid(batch, record);
    case CpuEvent::kSwitchIn:
      return NextTid(batch, record);
    case CpuEvent::kFork:
      return batch.Body<logformat::TaskRecord>(record).parent_tid;
    case CpuEvent::kExit:
      return batch.Body<logformat::TaskRecord>(record).tid;
    case CpuEvent::kExec:
    case CpuEvent::kComm:
      return batch.Body<logformat::CommRecord>(record).tid;
    case CpuEvent::kFault:
      return batch.Body<logformat::FaultRecord>(record).tid;
    case CpuEvent::kWakeup:  // perhaps in an interrupt
    case CpuEvent::kCounters:
    case CpuEvent::kProcessState:
    case CpuEvent::kOwner:
      break;
  }
  return -1;
}

}  // namespace

CpuStream& CpuStreams::Add(std::uint32_t cpu, std::uint32_t present) {
  CpuStream& stream = streams_.emplace_back();
  stream.cpu = cpu;
  stream.present = present;
  return stream;
}

absl::Status CpuStreams::Create(const KernelRecorderTarget& target) {
  owners_.emplace(target.directory);
  for (CpuStream& stream : streams_) {
    logformat::PacketWriterOptions writer;
    writer.directory = target.directory;
    writer.file = absl::StrFormat("cpu-%d", stream.cpu);
    writer.stream_class = logformat::StreamClass::kCpu;
    writer.uuid = target.uuid;
    writer.cpu = static_cast<std::int32_t>(stream.cpu);
    writer.present = stream.present;
    writer.packet_bytes = PacketBytesOn(target.directory, writer.packet_bytes);
    auto created = logformat::PacketWriter::Create(writer);
    if (!created.ok()) return created.status();
    stream.writer = *std::move(created);
  }
  return absl::OkStatus();
}

void CpuStreams::StoreCounters(CpuStream& stream, std::uint64_t time_ns,
                               CountersReason reason, std::uint32_t running_tid,
                               std::span<const std::uint64_t> counters) {
  logformat::CountersRecord record{};
  record.reason = static_cast<std::uint32_t>(reason);
  record.running_tid = running_tid;
  std::vector<std::byte> body(sizeof(record) - 8 + counters.size() * 8);
  std::memcpy(body.data(), reinterpret_cast<const std::byte*>(&record) + 8,
              sizeof(record) - 8);
  if (!counters.empty()) {
    std::memcpy(body.data() + sizeof(record) - 8, counters.data(),
                counters.size() * 8);
  }
  stream.writer->Append(static_cast<std::uint16_t>(CpuEvent::kCounters),
                        time_ns, body);
  stream.stored_ns = time_ns;
}

void CpuStreams::StoreBegin() {
  for (CpuStream& stream : streams_) {
    if (stream.batch.size() == 0) continue;
    const KernelRecord& record = stream.batch.records().front();
    stream.begin_ns = record.time_ns;
    FollowSwitch(stream, record);
    Store(stream, record);
    stream.batch.Consume(1);
  }
}

bool CpuStreams::FollowSwitch(CpuStream& stream, const KernelRecord& record) {
  switch (record.event_id) {
    case kLossEntry:
      // A switch-in before a loss is no proof for the time after it.
      stream.running_tid = -1;
      return true;
    case static_cast<std::uint16_t>(CpuEvent::kDispatch):
      if (stream.running_tid >= 0 &&
          PrevTid(stream.batch, record) != stream.running_tid) {
        stream.hides_switches = true;
      }
      stream.running_tid = NextTid(stream.batch, record);
      return true;
    case static_cast<std::uint16_t>(CpuEvent::kCounters): {
      const std::uint32_t tid =
          stream.batch.Body<logformat::CountersRecord>(record).running_tid;
      if (tid == logformat::kRunningTidUnknown) return true;
      stream.running_tid = static_cast<std::int32_t>(tid);
      return true;
    }
    case static_cast<std::uint16_t>(CpuEvent::kSwitchIn): {
      if (record.time_ns < stream.begin_ns) return false;
      const std::int32_t known = stream.running_tid;
      if (known >= 0) stream.running_tid = NextTid(stream.batch, record);
      return known != stream.running_tid;
    }
    default:
      return true;
  }
}

void CpuStreams::Store(CpuStream& stream, const KernelRecord& record) {
  if (record.event_id == kLossEntry) {
    const std::uint64_t lost = *stream.batch.Words(record);
    stream.writer->CountDiscarded(logformat::DiscardCause::kKernelRingFull,
                                  lost);
    return;
  }
  if (record.event_id == kCountedEntry) {
    const auto counted =
        static_cast<std::uint32_t>(*stream.batch.Words(record));
    stream.writer->SetPacketIdentity(-1, -1, 0, stream.present & counted);
    return;
  }
  // FollowMarks() has stored the records of all threads of its process.
  if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kProcessState)) {
    return;
  }
  if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kOwner)) {
    owners_->Add(stream.batch.Body<logformat::OwnerRecord>(record));
  }
  // The time of a hidden switch is computed, and may lie before records that
  // the CPU made until it was found.
  const bool computed =
      record.event_id == static_cast<std::uint16_t>(CpuEvent::kSwitchIn);
  const std::uint64_t time_ns =
      computed ? std::max(record.time_ns, stream.stored_ns) : record.time_ns;
  stream.writer->Append(record.event_id, time_ns, stream.batch.Bytes(record));
  stream.stored_ns = time_ns;
  // Without BPF: as it is by now. A forked one has its parent's.
  if (!kernel_marks_ &&
      record.event_id == static_cast<std::uint16_t>(CpuEvent::kExec)) {
    StoreOwnerAfterExec(stream,
                        stream.batch.Body<logformat::CommRecord>(record).pid,
                        record.time_ns);
  }
}

void CpuStreams::StoreFound(CpuStream& stream, const KernelRecord& record) {
  const auto store = [&](std::int32_t tid) {
    const auto found = found_.find(tid);
    if (found == found_.end()) return;
    StoreProcessState(stream, found->second, record.time_ns);
    found_.erase(found);
  };
  store(ActingThread(stream.batch, record));
  switch (record.event_id) {
    case static_cast<std::uint16_t>(CpuEvent::kFork):
      found_.erase(stream.batch.Body<logformat::TaskRecord>(record).tid);
      return;
    case static_cast<std::uint16_t>(CpuEvent::kDispatch):
    case static_cast<std::uint16_t>(CpuEvent::kSwitchIn):
      store(NextTid(stream.batch, record));
      return;
    default:
      return;
  }
}

void CpuStreams::StoreLeftOut(CpuStream& stream) {
  if (stream.left_out_ns == 0) return;
  stream.writer->Append(
      static_cast<std::uint16_t>(CpuEvent::kDispatch),
      std::max({stream.left_out_ns, stream.stored_ns, marked_ns_}),
      std::as_bytes(std::span(stream.left_out)));
  stream.left_out_ns = 0;
}

void CpuStreams::FollowMarks(CpuStream& stream, const KernelRecord& record) {
  const bool exec =
      record.event_id == static_cast<std::uint16_t>(CpuEvent::kExec);
  ProcessThread first;
  if (kernel_marks_) {
    if (record.event_id !=
        static_cast<std::uint16_t>(CpuEvent::kProcessState)) {
      return;
    }
    const auto state = stream.batch.Body<logformat::StateRecord>(record);
    if (!gating_.every_process() && members_.Contains(state.tid)) return;
    first.pid = state.pid;
    first.tid = state.tid;
    first.parent_pid = state.parent_pid;
    first.comm.assign(state.comm, strnlen(state.comm, sizeof(state.comm)));
  } else {
    if (marks_.empty() ||
        (!exec &&
         record.event_id != static_cast<std::uint16_t>(CpuEvent::kComm))) {
      return;
    }
    const auto comm = stream.batch.Body<logformat::CommRecord>(record);
    if (comm.pid != comm.tid) return;
    if (!gating_.every_process() && members_.Contains(comm.tid)) return;
    if (!marks_.MatchesComm(comm.comm) &&
        !(exec && marks_.MatchesOwner(comm.pid))) {
      return;
    }
    first.pid = first.tid = comm.pid;
    first.comm.assign(comm.comm, strnlen(comm.comm, sizeof(comm.comm)));
    const std::vector<ProcessThread> now = ScanThreadsOf(comm.pid);
    if (!now.empty()) first.parent_pid = now.front().parent_pid;
  }
  // The dispatch in which it became marked counts from its beginning: there is
  // no dump at that point.
  if (gating_.unmarked || stream.left_out_ns == 0) {
    StoreMarked(stream, first, record.time_ns);
    return;
  }
  StoreMarked(stream, first, std::max(stream.left_out_ns, stream.stored_ns));
  StoreLeftOut(stream);
}

void CpuStreams::StoreIfCounted(CpuStream& stream, const KernelRecord& record) {
  if (gating_.every_process()) {
    FollowMarks(stream, record);
    if (!FollowSwitch(stream, record)) return;
    Store(stream, record);
    FollowProcesses(stream, record);
    return;
  }
  if (!FollowSwitch(stream, record)) return;
  const std::int32_t actor = ActingThread(stream.batch, record);
  // A counted thread runs here, though its switch-in was left out. Either it
  // was not counted then, or it came after a switch that the kernel hides
  // (those of a sandbox's own agent); then the last visible switch is a bound.
  if (actor >= 0 && members_.Counts(actor)) StoreLeftOut(stream);
  if (!found_.empty() && record.event_id != kLossEntry &&
      record.event_id != kCountedEntry) {
    StoreFound(stream, record);
  }
  FollowMarks(stream, record);
  const bool keep = members_.Apply(stream.batch, record);
  if (keep) {
    Store(stream, record);
    FollowProcesses(stream, record);
  }
  if (record.event_id == kLossEntry || record.event_id == kCountedEntry) {
    stream.left_out_ns = 0;
  } else if (record.event_id ==
             static_cast<std::uint16_t>(CpuEvent::kCounters)) {
    // Later than the dispatch that was left out, and equally good as a bound.
    stream.left_out_ns = 0;
  } else if (record.event_id ==
             static_cast<std::uint16_t>(CpuEvent::kDispatch)) {
    const std::uint64_t* words = stream.batch.Words(record);
    stream.left_out_ns = keep ? 0 : record.time_ns;
    if (!keep) stream.left_out.assign(words, words + record.body_words);
  }
}

void CpuStreams::DrainSamples() {
  if (samples_ == nullptr) return;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    samples_->Drain(i, streams_[i].batch);
  }
}

void CpuStreams::StopSamples() {
  if (samples_ != nullptr) samples_->Stop();
}

void CpuStreams::EndSamples() {
  if (samples_ == nullptr) return;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    CpuStream& stream = streams_[i];
    const auto tid =
        static_cast<std::uint64_t>(std::max(stream.running_tid, 0));
    samples_->StoreEnd(i, stream.stored_ns, tid, *stream.writer);
  }
}

bool CpuStreams::TakeSampling(CpuStream& stream, const KernelRecord& record) {
  if (samples_ == nullptr || !IsSamplingEntry(record.event_id)) return false;
  if (record.event_id != kSampleEntry) {
    samples_->TakeMapping(stream.batch, record);
    return true;
  }
  const std::int32_t tid = PrevTid(stream.batch, record);
  const bool ending = tid == 0xffffff;
  const bool counted = gating_.every_process() ||
                       members_.Counts(ending ? stream.running_tid : tid);
  if (counted) StoreLeftOut(stream);
  // It may have been finished behind the reading of the ring.
  const std::uint64_t time_ns = std::max(record.time_ns, stream.stored_ns);
  samples_->StoreSample(static_cast<std::size_t>(&stream - streams_.data()),
                        stream.batch, record, time_ns, counted,
                        stream.running_tid, *stream.writer);
  if (counted) stream.stored_ns = time_ns;
  return true;
}

void CpuStreams::FollowProcesses(const CpuStream& stream,
                                 const KernelRecord& record) {
  if (samples_ == nullptr) return;
  if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kFork)) {
    const auto task = stream.batch.Body<logformat::TaskRecord>(record);
    if (task.pid != task.parent_pid) samples_->Fork(task.parent_pid, task.pid);
  } else if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kExit)) {
    const auto task = stream.batch.Body<logformat::TaskRecord>(record);
    if (task.pid == task.tid) samples_->End(task.pid);
  }
}

void CpuStreams::StoreUntil(std::uint64_t horizon_ns) {
  if (gating_.every_process() && samples_ == nullptr) {
    // Each CPU is a stream of its own and nothing is filtered: no merge. The
    // reader of the trace passes marks on at fork records.
    for (CpuStream& stream : streams_) {
      for (const KernelRecord& record : stream.batch.records()) {
        if (stream.several_rings && record.time_ns > horizon_ns) break;
        ++stream.next;
        FollowMarks(stream, record);
        if (FollowSwitch(stream, record)) Store(stream, record);
      }
      stream.batch.Consume(stream.next);
      stream.next = 0;
    }
    return;
  }
  // Merged by time, so that a fork on one CPU comes before the child's records
  // on another one, and a mapping before the samples in it.
  struct Head {
    std::uint64_t time_ns;
    std::size_t cpu;
    bool operator>(const Head& other) const {
      return time_ns != other.time_ns ? time_ns > other.time_ns
                                      : cpu > other.cpu;
    }
  };
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [this, &heads, horizon_ns](std::size_t index) {
    const CpuStream& stream = streams_[index];
    if (stream.next < stream.batch.size()) {
      const std::uint64_t time_ns = stream.batch.records()[stream.next].time_ns;
      if (time_ns <= horizon_ns) heads.push({time_ns, index});
    }
  };
  for (std::size_t i = 0; i < streams_.size(); ++i) push(i);
  while (!heads.empty()) {
    const std::size_t index = heads.top().cpu;
    heads.pop();
    CpuStream& stream = streams_[index];
    const KernelRecord& record = stream.batch.records()[stream.next++];
    if (!TakeSampling(stream, record)) StoreIfCounted(stream, record);
    push(index);
  }
  for (CpuStream& stream : streams_) {
    stream.batch.Consume(stream.next);
    stream.next = 0;
  }
}

absl::Status CpuStreams::Close() {
  absl::Status result;
  for (CpuStream& stream : streams_) result.Update(stream.writer->Close());
  if (owners_) owners_->Finish();
  return result;
}

void CpuStreams::DescribeClockErrors(std::vector<std::string>& messages) const {
  KernelRecorderStatistics sum;
  AddStatistics(sum);
  if (sum.clock_errors == 0) return;
  messages.push_back(absl::StrFormat(
      "Times of kernel records went back and were clamped: records=%d",
      sum.clock_errors));
}

void CpuStreams::DescribeSamples(std::vector<std::string>& messages) const {
  if (samples_ != nullptr) samples_->Describe(messages);
}

void CpuStreams::AddStatistics(KernelRecorderStatistics& sum) const {
  if (samples_ != nullptr) sum.lost_samples += samples_->lost();
  for (const CpuStream& stream : streams_) {
    if (stream.writer == nullptr) continue;
    sum.records += stream.writer->records();
    sum.bytes += stream.writer->bytes();
    sum.discarded += stream.writer->discarded();
    sum.clock_errors += stream.writer->clock_errors();
    const auto unplaced = stream.writer->unplaced_discarded();
    for (std::size_t i = 0; i < unplaced.size(); ++i) {
      sum.unplaced[i] += unplaced[i];
    }
    if (stream.writer->last_errno() != 0) {
      sum.last_errno = stream.writer->last_errno();
    }
  }
}

}  // namespace countrace::runtime
