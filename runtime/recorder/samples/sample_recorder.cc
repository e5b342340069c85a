#include "runtime/recorder/samples/sample_recorder.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "logformat/sample_points.h"

namespace countrace::runtime {
namespace {

using logformat::PacketWriter;
using logformat::SampleData;
using logformat::SamplePoint;

constexpr std::uint64_t kIdMask = 0xffffff;

std::unique_ptr<logformat::DataAreas> MakeDataAreas(
    const std::vector<SampleRequest>& requests, AddressSpaces& spaces) {
  if (std::none_of(requests.begin(), requests.end(),
                   [](const SampleRequest& request) {
                     return request.data != SampleData::kNone;
                   })) {
    return nullptr;
  }
  return std::make_unique<logformat::DataAreas>(
      [&spaces](std::int32_t pid) {
        std::vector<logformat::DataMapping> mappings;
        for (ProcessMapping& one : spaces.MappingsOf(pid)) {
          std::string build_id =
              spaces.StandInOf(pid, one.path, {one.device, one.inode});
          mappings.push_back({one.start, one.end - one.start, one.offset,
                              std::move(one.path), std::move(build_id)});
        }
        return mappings;
      },
      [&spaces](std::int32_t pid, const std::string& path) {
        return spaces.ImagePartsOf(pid, path);
      });
}

// An event that never happens.
SampleRequest NoSamples() {
  SampleRequest request;
  request.event.name = "dummy";
  request.event.type = PERF_TYPE_SOFTWARE;
  request.event.config = PERF_COUNT_SW_DUMMY;
  request.period = 1;
  return request;
}

}  // namespace

SampleRecorder::SampleRecorder(std::vector<SampleRequest> requests,
                               OffCpuRequest off_cpu, SamplingEvents events,
                               std::size_t cpus, CodeNamer namer)
    : requests_(std::move(requests)),
      off_cpu_(off_cpu),
      off_cpu_sums_(cpus),
      events_(std::move(events)),
      // Two more: off-cpu and its wakers.
      outside_(cpus, std::vector<std::uint64_t>(requests_.size() + 2)),
      kernel_names_(std::move(namer)),
      stacks_(files_, kernel_names_),
      areas_(MakeDataAreas(requests_, stacks_.spaces())),
      definitions_(cpus, files_, kernel_names_) {}

absl::StatusOr<std::unique_ptr<SampleRecorder>> SampleRecorder::Open(
    std::vector<SampleRequest> requests, OffCpuRequest off_cpu,
    const std::vector<std::uint32_t>& cpus,
    const std::vector<std::int32_t>& threads, CodeNamer namer) {
  if (requests.empty() && !off_cpu.any()) return nullptr;
  // Mappings come with an event: one that never happens, if there is no other.
  auto events = SamplingEvents::Open(
      requests.empty() ? std::vector<SampleRequest>{NoSamples()} : requests,
      cpus, threads);
  if (!events.ok()) return events.status();
  return std::unique_ptr<SampleRecorder>(
      new SampleRecorder(std::move(requests), off_cpu, *std::move(events),
                         cpus.size(), std::move(namer)));
}

absl::Status SampleRecorder::Begin(KernelHookRegistry& registry) {
  const auto add = [&](SamplePoint point, const std::string& name,
                       const std::string& location,
                       SampleData data = SampleData::kNone) {
    return registry.AddPoint(
        logformat::DescribeSamplePoint(point, name, location, data));
  };
  for (const SampleRequest& request : requests_) {
    sample_ids_.push_back(add(SamplePoint::kSample, request.event.name,
                              request.Text(), request.data));
  }
  if (off_cpu_.any()) {
    const std::string limit =
        base::FormatNanoseconds(static_cast<double>(off_cpu_.least_ns)) +
        " or longer";
    sample_ids_.push_back(
        add(SamplePoint::kSample, logformat::kOffCpuEvent, limit));
    if (off_cpu_.wakers) {
      sample_ids_.push_back(
          add(SamplePoint::kSample, logformat::kOffCpuWakerEvent, limit));
    }
    short_id_ = add(SamplePoint::kShort, "", "");
  }
  definitions_.Register(registry, areas_ != nullptr);
  count_id_ = add(SamplePoint::kCount, "", "");
  if (count_id_ == 0) {
    return absl::ResourceExhaustedError(
        "Cannot register the points of samples in the trace");
  }
  return events_.Enable();
}

void SampleRecorder::ReadMappings(std::int32_t pid) {
  stacks_.ReadMappings(pid);
  if (areas_ != nullptr) areas_->ReadMappings(pid);
}

void SampleRecorder::Drain(std::size_t cpu, RecordBatch& batch) {
  stacks_.spaces().TakeIdentities();
  events_.Drain(cpu, batch);
  batch.SortFrom(0);
}

void SampleRecorder::TakeMapping(const RecordBatch& batch,
                                 const KernelRecord& entry) {
  const std::uint64_t* const words = batch.Words(entry);
  const auto pid = static_cast<std::int32_t>(words[0]);
  if (entry.event_id == kNewProgramEntry) {
    stacks_.NewProgram(pid);
    if (areas_ != nullptr) areas_->NewProgram(pid);
    return;
  }
  std::array<char, 24> id;
  std::memcpy(id.data(), words + 4, id.size());
  const auto id_bytes = static_cast<unsigned char>(id[23]);
  const char* const path =
      reinterpret_cast<const char*>(words + kMappingHeadWords);
  const std::size_t room = (entry.body_words - kMappingHeadWords) * 8;
  const std::string name(path, strnlen(path, room));
  std::string build_id =
      absl::BytesToHexString(absl::string_view(id.data(), id_bytes));
  if (id_bytes == 0) {
    MappedFileNumber number;
    std::memcpy(&number, id.data(), kFileNumberBytes);
    build_id = stacks_.spaces().StandInOf(
        pid, name,
        {absl::StrFormat("%d:%d %d", number.device_major, number.device_minor,
                         number.generation),
         number.inode});
  }
  const logformat::DataMapping mapping = {words[1], words[2], words[3], name,
                                          std::move(build_id)};
  if (areas_ != nullptr) areas_->Map(pid, mapping);
  if (id[kMappingIsCode] != 0) stacks_.Map(pid, mapping);
}

std::uint64_t SampleRecorder::AreaOf(const SampleDataWords& data,
                                     const SampleOutput& out) {
  const std::uint32_t number =
      areas_->Find({static_cast<std::int32_t>(out.ids >> 24 & kIdMask),
                    static_cast<std::int32_t>(out.ids & kIdMask), data.address,
                    data.stack_pointer});
  if (number != 0) definitions_.DefineArea(number, (*areas_)[number], out);
  return number;
}

void SampleRecorder::StoreSample(std::size_t cpu, const RecordBatch& batch,
                                 const KernelRecord& entry,
                                 std::uint64_t time_ns, bool counted,
                                 std::int32_t running_tid,
                                 PacketWriter& writer) {
  const std::uint64_t* const words = batch.Words(entry);
  std::uint64_t ids = words[0] & 0xffff'ffff'ffff;
  const std::size_t event = words[0] >> 48;
  if (!counted) {
    outside_[cpu][event] += words[1];
    return;
  }
  if ((ids & kIdMask) == kIdMask) {
    const auto tid = static_cast<std::uint64_t>(std::max(running_tid, 0));
    ids = tid | tid << 24;
  }
  const SampleOutput out = {cpu, time_ns, ids, writer};
  const auto pid = static_cast<std::int32_t>(ids >> 24 & kIdMask);
  const std::uint64_t frame =
      definitions_.DefineStack(stacks_.Find(words, pid, KindOf(event)), out);
  std::array<std::uint64_t, logformat::kSourceNumbers> numbers = {words[1],
                                                                  frame};
  std::size_t used = logformat::kSampleNumbers;
  if (event < requests_.size() && requests_[event].data != SampleData::kNone) {
    SampleDataWords data;
    std::memcpy(&data, words + entry.body_words - kSampleDataWords,
                sizeof(data));
    numbers[2] = AreaOf(data, out);
    numbers[3] = data.address;
    numbers[4] = data.source;
    numbers[5] = data.weight;
    used = requests_[event].data == SampleData::kSource
               ? logformat::kSourceNumbers
               : logformat::kAddressNumbers;
  }
  out.Append(sample_ids_[event], std::span(numbers).first(used));
}

StackKind SampleRecorder::KindOf(std::size_t event) const {
  if (event < off_cpu_event()) return StackKind::kHit;
  return event == off_cpu_event() ? StackKind::kOffCpu : StackKind::kWaker;
}

std::uint64_t SampleRecorder::left_out() const {
  std::uint64_t left_out = 0;
  for (std::size_t cpu = 0; cpu < outside_.size(); ++cpu) {
    for (std::size_t event = 0; event < requests_.size(); ++event) {
      left_out += events_.totals(cpu, event).left_out;
    }
  }
  return left_out;
}

std::uint64_t SampleRecorder::lost() const {
  std::uint64_t lost = 0;
  for (const auto& [waits, wakers] : off_cpu_sums_) {
    lost += waits.lost + wakers.lost;
  }
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    for (std::size_t cpu = 0; cpu < outside_.size(); ++cpu) {
      lost += events_.totals(cpu, event).lost;
    }
  }
  return lost;
}

void SampleRecorder::Describe(std::vector<std::string>& messages) const {
  DescribeOffCpu(messages);
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    std::uint64_t lost = 0, throttled = 0;
    for (std::size_t cpu = 0; cpu < outside_.size(); ++cpu) {
      lost += events_.totals(cpu, event).lost;
      throttled += events_.totals(cpu, event).throttled;
    }
    if (lost != 0) {
      messages.push_back(absl::StrFormat(
          "Samples of %s found no room in the kernel's rings: samples=%d; take "
          "fewer",
          requests_[event].event.name, lost));
    }
    if (throttled != 0) {
      messages.push_back(absl::StrFormat(
          "The kernel stopped to sample %s for up to a tick each time: "
          "times=%d; take fewer a second",
          requests_[event].event.name, throttled));
    }
  }
  stacks_.Describe(
      std::max(off_cpu_.stack_bytes,
               requests_.empty() ? 0 : requests_.front().stack_bytes),
      messages);
  messages.insert(messages.end(), end_messages_.begin(), end_messages_.end());
}

void SampleRecorder::DescribeOffCpu(std::vector<std::string>& messages) const {
  std::uint64_t lost = 0, mappings = 0;
  for (std::size_t cpu = 0; cpu < outside_.size(); ++cpu) {
    const auto& [waits, wakers] = off_cpu_sums_[cpu];
    lost += waits.lost + wakers.lost;
    if (requests_.empty()) mappings += events_.totals(cpu, 0).lost;
  }
  if (lost != 0) {
    messages.push_back(absl::StrFormat(
        "Stacks off CPU found no room in the ring: stacks=%d; a longer time of "
        "--offcpu takes fewer",
        lost));
  }
  if (mappings != 0) {
    messages.push_back(absl::StrFormat(
        "Mappings of code found no room in the kernel's rings, so that some "
        "frames are [unknown]: records=%d",
        mappings));
  }
}

void SampleRecorder::StoreEnd(std::size_t cpu, std::uint64_t time_ns,
                              std::uint64_t ids, PacketWriter& writer) {
  const SampleOutput out = {cpu, time_ns, ids, writer};
  if (!std::exchange(ended_, true)) {
    stacks_.spaces().EndIdentities(end_messages_);
    definitions_.DefineJitFunctions(stacks_.jit_dumps(), out, end_messages_);
  }
  definitions_.CompleteFiles(out);
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    const SamplingTotals& totals = events_.totals(cpu, event);
    const std::array<std::uint64_t, logformat::kCountNumbers> numbers = {
        logformat::EventHookId(sample_ids_[event]),
        totals.counted,
        totals.idle,
        outside_[cpu][event],
        totals.lost + totals.left_out,
        totals.throttled};
    out.Append(count_id_, numbers);
  }
  if (off_cpu_.any()) StoreOffCpuEnd(false, out);
  if (off_cpu_.wakers) StoreOffCpuEnd(true, out);
}

void SampleRecorder::StoreOffCpuEnd(bool of_waker, const SampleOutput& out) {
  const std::size_t event = off_cpu_event() + (of_waker ? 1 : 0);
  const std::uint64_t hook = logformat::EventHookId(sample_ids_[event]);
  const OffCpuSums& sums = off_cpu_sums_[out.cpu][of_waker ? 1 : 0];
  const std::array<std::uint64_t, logformat::kCountNumbers> counts = {
      hook, sums.off_ns, sums.idle_ns, outside_[out.cpu][event], sums.lost, 0};
  out.Append(count_id_, counts);
  const std::array<std::uint64_t, logformat::kShortNumbers> shorter = {
      hook, sums.shorter, sums.shorter_ns, sums.lost_ns, sums.unseen};
  out.Append(short_id_, shorter);
}

}  // namespace countrace::runtime
