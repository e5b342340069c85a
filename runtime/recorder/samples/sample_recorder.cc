#include "runtime/recorder/samples/sample_recorder.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "logformat/sample_points.h"
#include "runtime/recorder/samples/process_maps.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

using base::UnwoundStack;
using logformat::PacketWriter;
using logformat::SampleData;
using logformat::SamplePoint;

constexpr std::uint64_t kIdMask = 0xffffff;

void Append(PacketWriter& writer, std::uint16_t event_id, std::uint64_t time_ns,
            std::uint64_t ids, std::span<const std::uint64_t> numbers,
            std::span<const std::string> texts = {}) {
  writer.Append(event_id, time_ns,
                logformat::SampleRecordBody(ids, numbers, texts));
}

std::unique_ptr<logformat::DataAreas> MakeDataAreas(
    const std::vector<SampleRequest>& requests) {
  if (std::none_of(requests.begin(), requests.end(),
                   [](const SampleRequest& request) {
                     return request.data != SampleData::kNone;
                   })) {
    return nullptr;
  }
  return std::make_unique<logformat::DataAreas>(
      [](std::int32_t pid) {
        std::vector<logformat::DataMapping> mappings;
        for (ProcessMapping& one : ReadProcessMaps(pid)) {
          mappings.push_back({one.start, one.end - one.start, one.offset,
                              std::move(one.path), ""});
        }
        return mappings;
      },
      // A container's process has another root.
      [](std::int32_t pid, const std::string& path) {
        return OpenMappedFile(absl::StrFormat("/proc/%d/root%s", pid, path));
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
      spaces_(files_),
      unwinder_(spaces_),
      areas_(MakeDataAreas(requests_)),
      kernel_file_(files_.Number({logformat::kKernelCode, logformat::kNoText})),
      truncated_file_(
          files_.Number({logformat::kTruncatedStack, logformat::kNoText})),
      not_unwound_file_(
          files_.Number({logformat::kStackNotUnwound, logformat::kNoText})),
      kernel_names_(std::move(namer)),
      streams_(cpus) {
  for (Stream& stream : streams_) stream.outside.resize(requests_.size() + 2);
}

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
  frame_id_ = add(SamplePoint::kFrame, "", "");
  file_id_ = add(SamplePoint::kFile, "", "");
  symbol_id_ = add(SamplePoint::kSymbol, "", "");
  if (areas_ != nullptr) area_id_ = add(SamplePoint::kArea, "", "");
  count_id_ = add(SamplePoint::kCount, "", "");
  registry_ = &registry;
  if (count_id_ == 0) {
    return absl::ResourceExhaustedError(
        "Cannot register the points of samples in the trace");
  }
  return events_.Enable();
}

void SampleRecorder::ReadMappings(std::int32_t pid) {
  spaces_.ReadMappings(pid);
  if (areas_ != nullptr) areas_->ReadMappings(pid);
}

void SampleRecorder::Drain(std::size_t cpu, RecordBatch& batch) {
  events_.Drain(cpu, batch);
  batch.SortFrom(0);
}

void SampleRecorder::TakeMapping(const RecordBatch& batch,
                                 const KernelRecord& entry) {
  const std::uint64_t* const words = batch.Words(entry);
  const auto pid = static_cast<std::int32_t>(words[0]);
  if (entry.event_id == kNewProgramEntry) {
    spaces_.NewProgram(pid);
    if (areas_ != nullptr) areas_->NewProgram(pid);
    unwinder_.Forget(pid);
    return;
  }
  std::array<char, 24> id;
  std::memcpy(id.data(), words + 4, id.size());
  const auto id_bytes = static_cast<unsigned char>(id[23]);
  const char* const path =
      reinterpret_cast<const char*>(words + kMappingHeadWords);
  const std::size_t room = (entry.body_words - kMappingHeadWords) * 8;
  const std::string name(path, strnlen(path, room));
  const std::string build_id =
      absl::BytesToHexString(absl::string_view(id.data(), id_bytes));
  if (areas_ != nullptr) {
    areas_->Map(pid, {words[1], words[2], words[3], name, build_id});
  }
  if (id[kMappingIsCode] == 0) return;
  unwinder_.Forget(pid, words[1], words[1] + words[2]);
  spaces_.Map(pid, words[1], words[2], words[3], name, build_id);
}

void SampleRecorder::DefineFile(Stream& stream, std::uint32_t file,
                                std::uint64_t ids, std::uint64_t time_ns,
                                PacketWriter& writer) {
  if (!stream.files.insert(file).second) return;
  const std::uint64_t number = file;
  const std::array<std::string, 2> texts = {files_[file].build_id,
                                            files_[file].path};
  Append(writer, file_id_, time_ns, ids, {&number, 1}, texts);
}

void SampleRecorder::DefineKernelSymbol(Stream& stream, std::uint64_t address,
                                        std::uint64_t ids,
                                        std::uint64_t time_ns,
                                        PacketWriter& writer) {
  const LocalSymbol* const symbol = kernel_names_.Find(address);
  if (symbol == nullptr ||
      !stream.kernel_symbols.insert(symbol->begin).second) {
    return;
  }
  const std::array<std::uint64_t, logformat::kSymbolNumbers> numbers = {
      kernel_file_, symbol->begin, symbol->bytes};
  Append(writer, symbol_id_, time_ns, ids, numbers, {&symbol->name, 1});
}

std::uint64_t SampleRecorder::FrameOf(Stream& stream, std::uint64_t parent,
                                      CodePlace place, std::uint64_t ids,
                                      std::uint64_t time_ns,
                                      PacketWriter& writer) {
  const auto [found, added] = stream.frames.try_emplace(
      Stream::Frame{parent, place.address, place.file}, 0);
  if (!added) return found->second;
  const std::uint64_t id = found->second = ++stream.last_frame;
  DefineFile(stream, place.file, ids, time_ns, writer);
  if (place.file == kernel_file_) {
    DefineKernelSymbol(stream, place.address, ids, time_ns, writer);
  } else if (files_[place.file].pid != 0) {
    jit_addresses_[place.file].insert(place.address);
  }
  const std::array<std::uint64_t, logformat::kFrameNumbers> numbers = {
      id, parent, place.file, place.address};
  Append(writer, frame_id_, time_ns, ids, numbers);
  return id;
}

std::uint64_t SampleRecorder::AreaOf(Stream& stream,
                                     const SampleDataWords& data,
                                     std::uint64_t ids, std::uint64_t time_ns,
                                     PacketWriter& writer) {
  const std::uint32_t number =
      areas_->Find({static_cast<std::int32_t>(ids >> 24 & kIdMask),
                    static_cast<std::int32_t>(ids & kIdMask), data.address,
                    data.stack_pointer});
  if (number == 0 || !stream.areas.insert(number).second) return number;
  const logformat::DataArea& area = (*areas_)[number];
  const std::uint32_t file = files_.Number(
      {area.path, area.build_id.empty() ? logformat::kNoText : area.build_id});
  DefineFile(stream, file, ids, time_ns, writer);
  const std::array<std::uint64_t, logformat::kAreaNumbers> numbers = {
      number,     file,        area.start,
      area.bytes, area.offset, static_cast<std::uint64_t>(area.thread)};
  Append(writer, area_id_, time_ns, ids, numbers);
  return number;
}

void SampleRecorder::FindFrames(const RecordBatch& batch,
                                const KernelRecord& entry, std::int32_t pid) {
  const std::uint64_t* const words = batch.Words(entry);
  const auto sizes = std::bit_cast<SampleSizes>(words[2]);
  const std::span<const std::uint64_t> chain(words + kSampleHeadWords,
                                             sizes.chain);
  stack_.clear();
  bool in_kernel = !chain.empty() && chain[0] >> 63 != 0;
  for (const std::uint64_t at : chain) {
    if (at >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      in_kernel = at == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ||
                  at == static_cast<std::uint64_t>(PERF_CONTEXT_HV);
      continue;
    }
    // Where a chain of frame pointers ends.
    if (at == 0) continue;
    // A return address may be the first of the next function.
    const std::uint64_t address = stack_.empty() ? at : at - 1;
    stack_.push_back(in_kernel ? CodePlace{kernel_file_, address}
                               : spaces_.Find(pid, address));
  }
  if (sizes.registers == 0) return;
  const std::uint64_t* const registers = chain.data() + chain.size();
  const UnwoundStack& unwound = unwinder_.Unwind(
      pid, {{registers, sizes.registers},
            std::as_bytes(std::span(
                reinterpret_cast<const char*>(registers + sizes.registers),
                sizes.stack_bytes)),
            sizes.stack_is_cut});
  ++unwound_;
  stack_.insert(stack_.end(), unwound.frames.begin(), unwound.frames.end());
  if (unwound.end == UnwoundStack::End::kTruncated) {
    ++truncated_;
    stack_.push_back({truncated_file_, 0});
  } else if (unwound.end == UnwoundStack::End::kNotUnwound) {
    ++not_unwound_;
    stack_.push_back({not_unwound_file_, 0});
  }
}

void SampleRecorder::StoreSample(std::size_t cpu, const RecordBatch& batch,
                                 const KernelRecord& entry,
                                 std::uint64_t time_ns, bool counted,
                                 std::int32_t running_tid,
                                 PacketWriter& writer) {
  const std::uint64_t* const words = batch.Words(entry);
  std::uint64_t ids = words[0] & 0xffff'ffff'ffff;
  const std::size_t event = words[0] >> 48;
  Stream& stream = streams_[cpu];
  if (!counted) {
    stream.outside[event] += words[1];
    return;
  }
  if ((ids & kIdMask) == kIdMask) {
    const auto tid = static_cast<std::uint64_t>(std::max(running_tid, 0));
    ids = tid | tid << 24;
  }
  if (stream.packets != writer.packets()) {
    stream.packets = writer.packets();
    // A frame's record, with what little files and symbols add.
    constexpr std::uint64_t kDefinitionBytes = 48, kRest = 4;
    if (writer.bytes() - stream.begun_bytes >=
        kRest * kDefinitionBytes * stream.frames.size()) {
      stream.begun_bytes = writer.bytes();
      stream.files.clear();
      stream.kernel_symbols.clear();
      stream.frames.clear();
      stream.areas.clear();
      stream.last.clear();
    }
  }
  FindFrames(batch, entry, static_cast<std::int32_t>(ids >> 24 & kIdMask));
  if (event >= off_cpu_event()) CutOffCpu(event != off_cpu_event());
  // They are defined from the outermost on.
  std::uint64_t frame = 0;
  std::size_t depth = 0;
  for (auto place = stack_.rbegin(); place != stack_.rend(); ++place) {
    if (depth < stream.last.size() && stream.last[depth].first == *place) {
      frame = stream.last[depth++].second;
      continue;
    }
    stream.last.resize(depth++);
    frame = FrameOf(stream, frame, *place, ids, time_ns, writer);
    stream.last.emplace_back(*place, frame);
  }
  stream.last.resize(depth);
  std::array<std::uint64_t, logformat::kSourceNumbers> numbers = {words[1],
                                                                  frame};
  std::size_t used = logformat::kSampleNumbers;
  if (event < requests_.size() && requests_[event].data != SampleData::kNone) {
    SampleDataWords data;
    std::memcpy(&data, words + entry.body_words - kSampleDataWords,
                sizeof(data));
    numbers[2] = AreaOf(stream, data, ids, time_ns, writer);
    numbers[3] = data.address;
    numbers[4] = data.source;
    numbers[5] = data.weight;
    used = requests_[event].data == SampleData::kSource
               ? logformat::kSourceNumbers
               : logformat::kAddressNumbers;
  }
  Append(writer, sample_ids_[event], time_ns, ids,
         std::span(numbers).first(used));
}

void SampleRecorder::CutOffCpu(bool of_waker) {
  const auto is_way = [&](const CodePlace& place) {
    const LocalSymbol* const symbol = place.file == kernel_file_
                                          ? kernel_names_.Find(place.address)
                                          : nullptr;
    return symbol != nullptr &&
           symbol->name.find(of_waker ? "wake" : "schedule") !=
               std::string::npos;
  };
  const auto begin = std::find_if(stack_.begin(), stack_.end(), is_way);
  auto end = std::find_if_not(begin, stack_.end(), is_way);
  if (end == stack_.end()) return;
  // The last one says how it woke.
  if (of_waker && end != begin) --end;
  stack_.erase(stack_.begin(), end);
}

std::uint64_t SampleRecorder::lost() const {
  std::uint64_t lost = 0;
  for (const auto& [waits, wakers] : off_cpu_sums_) {
    lost += waits.lost + wakers.lost;
  }
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    for (std::size_t cpu = 0; cpu < streams_.size(); ++cpu) {
      lost += events_.totals(cpu, event).lost;
    }
  }
  return lost;
}

void SampleRecorder::Describe(std::vector<std::string>& messages) const {
  DescribeOffCpu(messages);
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    std::uint64_t lost = 0, throttled = 0;
    for (std::size_t cpu = 0; cpu < streams_.size(); ++cpu) {
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
  DescribeStacks(messages);
  messages.insert(messages.end(), jit_messages_.begin(), jit_messages_.end());
}

void SampleRecorder::DescribeStacks(std::vector<std::string>& messages) const {
  if (truncated_ != 0) {
    messages.push_back(absl::StrFormat(
        "Stacks went on behind the bytes that were copied and end in %s: "
        "stacks=%d, bytes=%d; copy more (--call-graph dwarf,BYTES, at most %d)",
        logformat::kTruncatedStack, truncated_,
        std::max(off_cpu_.stack_bytes,
                 requests_.empty() ? 0 : requests_.front().stack_bytes),
        kMostStackBytes));
  }
  // Few are usual: a program is being replaced, its stack is gone.
  if (not_unwound_ > unwound_ / 100 + 1) {
    messages.push_back(absl::StrFormat(
        "Stacks had a frame of which no rule leads to its caller, and end in "
        "%s: stacks=%d of %d",
        logformat::kStackNotUnwound, not_unwound_, unwound_));
  }
}

void SampleRecorder::DescribeOffCpu(std::vector<std::string>& messages) const {
  std::uint64_t lost = 0, mappings = 0;
  for (std::size_t cpu = 0; cpu < streams_.size(); ++cpu) {
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

void SampleRecorder::StoreJitSymbols(Stream& stream, std::uint64_t ids,
                                     std::uint64_t time_ns,
                                     PacketWriter& writer) {
  for (const auto& [file, addresses] : jit_addresses_) {
    StoreJitSymbols(stream, file, addresses, ids, time_ns, writer);
  }
  jit_addresses_.clear();
}

void SampleRecorder::StoreJitSymbols(Stream& stream, std::uint32_t file,
                                     const std::set<std::uint64_t>& addresses,
                                     std::uint64_t ids, std::uint64_t time_ns,
                                     PacketWriter& writer) {
  const std::int32_t pid = files_[file].pid;
  const JitDump dumped = spaces_.jit_dumps().Read(pid, jit_messages_);
  const LocalSymbols mapped =
      ReadJitSymbols(pid, spaces_.jit_dumps().UserOf(pid), jit_messages_);
  // Another clock's times would say nothing.
  const bool has_times = dumped.has_times && dumped.last_ns <= MonotonicNs();
  bool other_clock = false;
  const LocalSymbol* last = nullptr;
  std::set<std::size_t> stored;
  for (const std::uint64_t address : addresses) {
    const std::vector<std::size_t> functions = dumped.history.At(address);
    other_clock |= functions.size() > 1 && !has_times;
    if (functions.size() > 1 && has_times) {
      for (const std::size_t one : functions) {
        if (!stored.insert(one).second) continue;
        if (timed_id_ == 0) {
          timed_id_ = registry_->AddPoint(logformat::DescribeSamplePoint(
              SamplePoint::kTimedSymbol, "", ""));
        }
        const TimedFunction& function = dumped.history[one];
        DefineFile(stream, file, ids, time_ns, writer);
        const std::array<std::uint64_t, logformat::kTimedSymbolNumbers>
            numbers = {file, function.begin, function.bytes,
                       // It may have run before it was described.
                       one == functions.front() ? 0 : function.from_ns,
                       function.until_ns};
        if (timed_id_ == 0) break;  // there are no more ids
        Append(writer, timed_id_, time_ns, ids, numbers, {&function.name, 1});
      }
      continue;
    }
    const LocalSymbol* symbol = dumped.symbols.Find(address);
    if (symbol == nullptr) symbol = mapped.Find(address);
    if (symbol == nullptr || symbol == last) continue;
    last = symbol;
    DefineFile(stream, file, ids, time_ns, writer);
    const std::array<std::uint64_t, logformat::kSymbolNumbers> numbers = {
        file, symbol->begin, symbol->bytes};
    Append(writer, symbol_id_, time_ns, ids, numbers, {&symbol->name, 1});
  }
  if (other_clock) {
    jit_messages_.push_back(absl::StrFormat(
        "jit-%d.dump: its times are not CLOCK_MONOTONIC's, so of functions at "
        "the same address, one after the other, all have the last one's name",
        pid));
  }
}

void SampleRecorder::StoreEnd(std::size_t cpu, std::uint64_t time_ns,
                              std::uint64_t ids, PacketWriter& writer) {
  Stream& stream = streams_[cpu];
  StoreJitSymbols(stream, ids, time_ns, writer);
  for (std::size_t event = 0; event < requests_.size(); ++event) {
    const SamplingTotals& totals = events_.totals(cpu, event);
    const std::array<std::uint64_t, logformat::kCountNumbers> numbers = {
        logformat::EventHookId(sample_ids_[event]),
        totals.counted,
        totals.idle,
        stream.outside[event],
        totals.lost,
        totals.throttled};
    Append(writer, count_id_, time_ns, ids, numbers);
  }
  if (off_cpu_.any()) StoreOffCpuEnd(cpu, false, time_ns, ids, writer);
  if (off_cpu_.wakers) StoreOffCpuEnd(cpu, true, time_ns, ids, writer);
}

void SampleRecorder::StoreOffCpuEnd(std::size_t cpu, bool of_waker,
                                    std::uint64_t time_ns, std::uint64_t ids,
                                    PacketWriter& writer) {
  const std::size_t event = off_cpu_event() + (of_waker ? 1 : 0);
  const std::uint64_t hook = logformat::EventHookId(sample_ids_[event]);
  const OffCpuSums& sums = off_cpu_sums_[cpu][of_waker ? 1 : 0];
  const std::array<std::uint64_t, logformat::kCountNumbers> counts = {
      hook, sums.off_ns, sums.idle_ns, streams_[cpu].outside[event], sums.lost,
      0};
  Append(writer, count_id_, time_ns, ids, counts);
  const std::array<std::uint64_t, logformat::kShortNumbers> shorter = {
      hook, sums.shorter, sums.shorter_ns, sums.lost_ns, sums.unseen};
  Append(writer, short_id_, time_ns, ids, shorter);
}

}  // namespace countrace::runtime
