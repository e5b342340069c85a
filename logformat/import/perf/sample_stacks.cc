#include "logformat/import/perf/sample_stacks.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

using logformat::SamplePoint;

namespace {

constexpr std::uint64_t kIdMask = 0xffffff;

std::string RateOf(const EventAttribute& attribute) {
  return attribute.Has(kFreq)
             ? absl::StrFormat("%d Hz", attribute.sample_period)
             : absl::StrFormat("every %d", attribute.sample_period);
}

}  // namespace

void SampleStacks::Prepare(const EventAttribute& attribute,
                           const std::string& name) {
  const std::uint64_t type = attribute.sample_type;
  const bool has_chain = (type & PERF_SAMPLE_CALLCHAIN) != 0;
  // The place of a tracepoint is known: it is the kernel's.
  const bool has_place =
      (type & PERF_SAMPLE_IP) != 0 && attribute.type != PERF_TYPE_TRACEPOINT;
  const bool is_dummy = attribute.type == PERF_TYPE_SOFTWARE &&
                        attribute.config == PERF_COUNT_SW_DUMMY;
  if ((!has_chain && !has_place) || is_dummy || attribute.sample_period == 0) {
    return;
  }
  const std::uint32_t hook = output_.AddHook(logformat::DescribeSamplePoint(
      SamplePoint::kSample, name, RateOf(attribute)));
  if (hook != 0) hooks_[&attribute] = hook;
  stacks_by_dwarf_ |= (type & PERF_SAMPLE_STACK_USER) != 0;
}

std::uint32_t SampleStacks::PointOf(SamplePoint point) {
  const auto [found, added] = points_.try_emplace(point, 0);
  if (added) {
    found->second =
        output_.AddHook(logformat::DescribeSamplePoint(point, "", ""));
  }
  return found->second;
}

void SampleStacks::Store(CpuBooks& cpu, std::uint32_t hook,
                         std::uint64_t time_ns, std::uint64_t ids,
                         std::span<const std::uint64_t> numbers,
                         std::span<const std::string> texts) {
  if (hook == 0) return;  // there are no more ids
  records_.AppendPoint(cpu, hook, time_ns,
                       logformat::SampleRecordBody(ids, numbers, texts));
}

std::uint64_t SampleStacks::FrameOf(CpuBooks& cpu, Stream& stream,
                                    std::uint64_t time_ns, const Frame& frame) {
  const auto [found, added] = stream.frames.try_emplace(frame, 0);
  if (!added) return found->second;
  const std::uint64_t id = found->second = ++stream.last_frame;
  if (stream.files.insert(frame.file).second) {
    const std::uint64_t number = frame.file;
    const MappedFile& file = mappings_.files()[frame.file];
    const std::array<std::string, 2> texts = {file.build_id, file.path};
    Store(cpu, PointOf(SamplePoint::kFile), time_ns, 0, {&number, 1}, texts);
  }
  const std::array<std::uint64_t, logformat::kFrameNumbers> numbers = {
      id, frame.parent, frame.file, frame.address};
  Store(cpu, PointOf(SamplePoint::kFrame), time_ns, 0, numbers);
  return id;
}

bool SampleStacks::OnSample(CpuBooks& cpu, std::uint64_t time_ns,
                            const EventAttribute& attribute,
                            const Sample& sample, std::uint16_t misc) {
  const auto hook = hooks_.find(&attribute);
  if (hook == hooks_.end()) return false;
  const std::uint64_t period = (attribute.sample_type & PERF_SAMPLE_PERIOD) != 0
                                   ? sample.period
                                   : attribute.sample_period;
  Stream& stream = streams_[cpu.number];
  stream.last_ns = time_ns;
  std::int32_t tid = sample.tid, pid = sample.pid;
  if (tid < 0 && cpu.current > 0) {  // it is ending, and has no number any more
    tid = cpu.current;
    pid = records_.PidOf(tid);
  }
  if (tid <= 0) {
    stream.idle[hook->second] += period;
    return false;
  }
  // A stream that goes on in another file defines all anew.
  if (stream.begun_files != cpu.stream->files) {
    stream.begun_files = cpu.stream->files;
    stream.files.clear();
    stream.frames.clear();
  }
  const std::uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  bool in_kernel =
      mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR;
  steps_.clear();
  for (const std::uint64_t address : sample.chain) {
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      in_kernel = address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ||
                  address == static_cast<std::uint64_t>(PERF_CONTEXT_HV);
      continue;
    }
    if (address == 0) continue;  // where a chain of frame pointers ends
    // A return address may be the first of the next function.
    steps_.push_back({steps_.empty() ? address : address - 1, in_kernel});
  }
  if (steps_.empty() && (attribute.sample_type & PERF_SAMPLE_IP) != 0 &&
      sample.ip != 0) {
    steps_.push_back({sample.ip, mode != PERF_RECORD_MISC_USER});
  }
  std::uint64_t frame = 0;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const MappedPlace place =
        step->in_kernel ? MappedPlace{mappings_.kernel(), step->address}
                        : mappings_.Find(pid, step->address);
    frame = FrameOf(cpu, stream, time_ns, {frame, place.address, place.file});
  }
  const std::uint64_t ids = (static_cast<std::uint64_t>(tid) & kIdMask) |
                            (static_cast<std::uint64_t>(pid) & kIdMask) << 24;
  const std::array<std::uint64_t, logformat::kSampleNumbers> numbers = {period,
                                                                        frame};
  Store(cpu, hook->second, time_ns, ids, numbers);
  return true;
}

void SampleStacks::Finish(logformat::TraceInfo& info) {
  for (auto& [number, stream] : streams_) {
    CpuBooks& cpu = records_.CpuOf(number, stream.last_ns);
    for (const auto& [hook, idle] : stream.idle) {
      // What the event counted is not in the file.
      const std::array<std::uint64_t, logformat::kCountNumbers> numbers = {
          hook, 0, idle, 0, 0, 0};
      Store(cpu, PointOf(SamplePoint::kCount), cpu.last_ns, 0, numbers);
    }
  }
  if (stacks_by_dwarf_) {
    info.not_known.push_back(
        "who called the user code that was sampled: perf stored parts of the "
        "stacks (--call-graph dwarf), not the calls; record with --call-graph "
        "fp");
  }
}

}  // namespace countrace::importer::perf
