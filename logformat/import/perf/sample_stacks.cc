// More than 400 lines: one class, which stores the stacks of samples.
#include "logformat/import/perf/sample_stacks.h"

#include <linux/perf_event.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/user_registers.h"
#include "base/text/name_escape.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

using logformat::SampleData;
using logformat::SamplePoint;

namespace {

constexpr std::uint64_t kIdMask = 0xffffff;

std::string RateOf(const EventAttribute& attribute) {
  return attribute.Has(kFreq)
             ? absl::StrFormat("%d Hz", attribute.sample_period)
             : absl::StrFormat("every %d", attribute.sample_period);
}

bool IsMonotonic(const FileDescription& file) {
  return !file.attributes.empty() && file.attributes.front().Has(kUseClockId) &&
         file.attributes.front().clock_id == CLOCK_MONOTONIC;
}

bool IsThisProcessor(const FileDescription& file) {
  utsname here;
  return !file.swapped && (file.arch.empty() ||
                           (uname(&here) == 0 && file.arch == here.machine));
}

// The values of the registers in `wanted`, of those in `all`.
std::vector<std::uint64_t> Chosen(std::uint64_t wanted, std::uint64_t all,
                                  std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> out;
  for (const std::uint64_t value : values) {
    const std::uint64_t lowest = all & -all;
    if ((wanted & lowest) != 0) out.push_back(value);
    all ^= lowest;
  }
  return out;
}

SampleData DataOf(const EventAttribute& attribute) {
  const std::uint64_t type = attribute.sample_type;
  if ((type & PERF_SAMPLE_ADDR) == 0) return SampleData::kNone;
  return (type & PERF_SAMPLE_DATA_SRC) != 0 ? SampleData::kSource
                                            : SampleData::kAddress;
}

}  // namespace

SampleStacks::SampleStacks(const FileDescription& file,
                           const MachineFiles& machine, CpuRecords& records,
                           TraceOutput& output)
    : file_(file),
      machine_(machine),
      records_(records),
      output_(output),
      mappings_(file, machine),
      kernel_file_(mappings_.FileNamed(logformat::kKernelCode)),
      kernel_symbols_(file, machine),
      jit_symbols_(machine, IsMonotonic(file)),
      other_processor_(!IsThisProcessor(file)) {}

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
  const SampleData data = DataOf(attribute);
  const std::uint32_t hook = output_.AddHook(logformat::DescribeSamplePoint(
      SamplePoint::kSample, name, RateOf(attribute), data));
  if (data != SampleData::kNone && areas_ == nullptr) {
    areas_ = std::make_unique<logformat::DataAreas>(
        nullptr, [this](std::int32_t /*pid*/, const std::string& path) {
          const base::ScopedFd fd = machine_.object != nullptr
                                        ? machine_.object(path)
                                        : base::ScopedFd();
          return fd.is_open() ? logformat::ReadImageParts(fd.get())
                              : std::vector<logformat::ImagePart>();
        });
  }
  if (hook != 0) hooks_[&attribute] = hook;
  if (hook != 0 && (type & PERF_SAMPLE_REGS_USER) != 0 &&
      (type & PERF_SAMPLE_STACK_USER) != 0) {
    stack_bytes_ = std::max(stack_bytes_, attribute.stack_bytes);
    if (unwinder_ == nullptr) {
      unwinder_ = std::make_unique<base::StackUnwinder>(mappings_);
    }
  }
}

bool SampleStacks::OnMapping(const RawRecord& record) {
  MappingRecord mapping;
  if (!ReadMapping(record, file_, mapping)) return false;
  if (mapping.of_kernel) kernel_symbols_.Map(mapping);
  if (mapping.of_kernel || mapping.pid <= 0) return true;
  if (areas_ != nullptr) {
    areas_->Map(mapping.pid, {mapping.start, mapping.bytes, mapping.offset,
                              std::string(mapping.path), mapping.build_id});
  }
  if (!mapping.is_code) return true;
  if (unwinder_ != nullptr) {
    unwinder_->Forget(mapping.pid, mapping.start,
                      mapping.start + mapping.bytes);
  }
  mappings_.Map(mapping);
  jit_symbols_.Map(mapping);
  return true;
}

void SampleStacks::NewProgram(std::int32_t pid) {
  if (unwinder_ != nullptr) unwinder_->Forget(pid);
  if (areas_ != nullptr) areas_->NewProgram(pid);
  mappings_.NewProgram(pid);
}

void SampleStacks::Fork(std::int32_t parent_pid, std::int32_t pid) {
  if (parent_pid == pid) return;  // a thread
  if (unwinder_ != nullptr) unwinder_->Forget(pid);
  if (areas_ != nullptr) areas_->Fork(parent_pid, pid);
  mappings_.Fork(parent_pid, pid);
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

void SampleStacks::DefineFile(CpuBooks& cpu, Stream& stream,
                              std::uint64_t time_ns, std::uint32_t number) {
  if (!stream.files.insert(number).second) return;
  const std::uint64_t file = number;
  const MappedFile& mapped = mappings_.files()[number];
  const std::array<std::string, 2> texts = {mappings_.VersionOf(number),
                                            mapped.path};
  Store(cpu, PointOf(SamplePoint::kFile), time_ns, 0, {&file, 1}, texts);
}

std::uint64_t SampleStacks::StackPointerOf(const EventAttribute& attribute,
                                           const Sample& sample) const {
  const std::uint64_t wanted = base::StackPointerMask();
  if (other_processor_ || wanted == 0 || sample.registers.empty() ||
      (wanted & ~attribute.user_registers) != 0) {
    return 0;
  }
  return Chosen(wanted, attribute.user_registers, sample.registers).front();
}

std::uint64_t SampleStacks::AreaOf(CpuBooks& cpu, Stream& stream,
                                   std::uint64_t time_ns,
                                   const logformat::DataAddress& address) {
  const std::uint32_t number = areas_->Find(address);
  if (number == 0 || !stream.areas.insert(number).second) return number;
  const logformat::DataArea& area = (*areas_)[number];
  const std::uint32_t file = mappings_.FileOfData(area.path, area.build_id);
  DefineFile(cpu, stream, time_ns, file);
  const std::array<std::uint64_t, logformat::kAreaNumbers> numbers = {
      number,     file,        area.start,
      area.bytes, area.offset, static_cast<std::uint64_t>(area.thread)};
  Store(cpu, PointOf(SamplePoint::kArea), time_ns, 0, numbers);
  return number;
}

std::uint64_t SampleStacks::FrameOf(CpuBooks& cpu, Stream& stream,
                                    std::uint64_t time_ns, const Frame& frame) {
  const auto [found, added] = stream.frames.try_emplace(frame, 0);
  if (!added) return found->second;
  const std::uint64_t id = found->second = ++stream.last_frame;
  DefineFile(cpu, stream, time_ns, frame.file);
  if (frame.file == kernel_file_) {
    DefineKernelSymbol(cpu, stream, time_ns, frame.address);
  } else if (mappings_.files()[frame.file].pid != 0) {
    jit_addresses_[frame.file].insert(frame.address);
  }
  const std::array<std::uint64_t, logformat::kFrameNumbers> numbers = {
      id, frame.parent, frame.file, frame.address};
  Store(cpu, PointOf(SamplePoint::kFrame), time_ns, 0, numbers);
  return id;
}

void SampleStacks::DefineKernelSymbol(CpuBooks& cpu, Stream& stream,
                                      std::uint64_t time_ns,
                                      std::uint64_t address) {
  const auto symbol = kernel_symbols_.Find(address);
  if (!symbol || !stream.kernel_symbols.insert(symbol->begin).second) return;
  const std::array<std::uint64_t, logformat::kSymbolNumbers> numbers = {
      kernel_file_, symbol->begin, symbol->bytes};
  Store(cpu, PointOf(SamplePoint::kSymbol), time_ns, 0, numbers,
        {&symbol->name, 1});
}

void SampleStacks::FindFrames(const EventAttribute& attribute,
                              const Sample& sample, std::int32_t pid,
                              std::uint16_t misc) {
  const std::uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  bool in_kernel =
      mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR;
  bool has_user_frames = false;
  places_.clear();
  const auto add = [&](std::uint64_t address) {
    places_.push_back(in_kernel ? base::CodePlace{kernel_file_, address}
                                : mappings_.Find(pid, address));
    has_user_frames |= !in_kernel;
  };
  for (const std::uint64_t address : sample.chain) {
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      in_kernel = address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ||
                  address == static_cast<std::uint64_t>(PERF_CONTEXT_HV);
      continue;
    }
    if (address == 0) continue;  // where a chain of frame pointers ends
    // A return address may be the first of the next function.
    add(places_.empty() ? address
        : in_kernel     ? kernel_symbols_.CallerAddress(address)
                        : address - 1);
  }
  if (!has_user_frames && !sample.registers.empty() && unwinder_ != nullptr) {
    Unwind(attribute, sample, pid);
  }
  if (places_.empty() && (attribute.sample_type & PERF_SAMPLE_IP) != 0 &&
      sample.ip != 0) {
    in_kernel = mode != PERF_RECORD_MISC_USER;
    add(sample.ip);
  }
}

void SampleStacks::Unwind(const EventAttribute& attribute, const Sample& sample,
                          std::int32_t pid) {
  ++unwound_;
  const std::uint64_t wanted = base::UserRegisterMask();
  const bool known = !other_processor_ && wanted != 0 &&
                     (wanted & ~attribute.user_registers) == 0 &&
                     sample.registers_abi == PERF_SAMPLE_REGS_ABI_64;
  using End = base::UnwoundStack::End;
  End end = End::kNotUnwound;
  if (known) {
    const std::vector<std::uint64_t> registers =
        Chosen(wanted, attribute.user_registers, sample.registers);
    const base::UnwoundStack& unwound =
        unwinder_->Unwind(pid, {registers, sample.stack, sample.stack_is_cut});
    places_.insert(places_.end(), unwound.frames.begin(), unwound.frames.end());
    end = unwound.end;
  } else if (places_.empty() && sample.ip != 0) {
    places_.push_back(mappings_.Find(pid, sample.ip));
  }
  if (end == End::kTruncated) {
    ++truncated_;
    places_.push_back({mappings_.FileNamed(logformat::kTruncatedStack), 0});
  } else if (end == End::kNotUnwound) {
    ++not_unwound_;
    places_.push_back({mappings_.FileNamed(logformat::kStackNotUnwound), 0});
  }
}

void SampleStacks::OnExit(const CpuBooks& cpu, std::uint64_t time_ns,
                          std::int32_t pid, std::int32_t tid) {
  Stream& stream = streams_[cpu.number];
  stream.last_ns = time_ns;
  stream.ending_pid = pid;
  stream.ending_tid = tid;
}

void SampleStacks::FindThread(const CpuBooks& cpu, Stream& stream,
                              std::int32_t& pid, std::int32_t& tid) const {
  if (tid >= 0) {
    if (tid != stream.ending_tid) stream.ending_pid = stream.ending_tid = 0;
    return;
  }
  if (cpu.current > 0) {
    tid = cpu.current;
    pid = records_.PidOf(tid);
  } else if (stream.ending_tid > 0) {
    pid = stream.ending_pid;
    tid = stream.ending_tid;
  } else if (pid > 0) {
    tid = pid;
  }
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
  FindThread(cpu, stream, pid, tid);
  if (tid <= 0) {
    auto& [idle, outside] = stream.rest[hook->second];
    (tid == 0 ? idle : outside) += period;
    return false;
  }
  // A stream that goes on in another file defines all anew.
  if (stream.begun_files != cpu.stream->files) {
    stream.begun_files = cpu.stream->files;
    stream.files.clear();
    stream.frames.clear();
    stream.kernel_symbols.clear();
    stream.areas.clear();
  }
  FindFrames(attribute, sample, pid, misc);
  std::uint64_t frame = 0;
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    frame = FrameOf(cpu, stream, time_ns, {frame, place->address, place->file});
  }
  const std::uint64_t ids = (static_cast<std::uint64_t>(tid) & kIdMask) |
                            (static_cast<std::uint64_t>(pid) & kIdMask) << 24;
  std::array<std::uint64_t, logformat::kSourceNumbers> numbers = {period,
                                                                  frame};
  std::size_t used = logformat::kSampleNumbers;
  if (const SampleData data = DataOf(attribute); data != SampleData::kNone) {
    numbers[2] =
        AreaOf(cpu, stream, time_ns,
               {pid, tid, sample.address, StackPointerOf(attribute, sample)});
    numbers[3] = sample.address;
    numbers[4] = sample.data_source;
    numbers[5] = sample.weight;
    used = data == SampleData::kSource ? logformat::kSourceNumbers
                                       : logformat::kAddressNumbers;
  }
  Store(cpu, hook->second, time_ns, ids, std::span(numbers).first(used));
  return true;
}

// All in one stream: they are of the whole trace.
void SampleStacks::StoreJitSymbols() {
  std::uint64_t last_ns = 0;
  for (const auto& [number, stream] : streams_) {
    last_ns = std::max(last_ns, stream.last_ns);
  }
  base::NameLimits limits;
  std::size_t left = jit_addresses_.size();
  for (const auto& [file, addresses] : jit_addresses_) {
    base::NameLimits share = limits.TakeShare(left--);
    auto& [number, stream] = *streams_.begin();
    CpuBooks& cpu = records_.CpuOf(number, stream.last_ns);
    stream.files.clear();
    for (const auto& [function, is_timed] : jit_symbols_.Names(
             mappings_.files()[file].pid, addresses, last_ns, share)) {
      DefineFile(cpu, stream, cpu.last_ns, file);
      const std::array<std::uint64_t, logformat::kTimedSymbolNumbers> numbers =
          {file, function.begin, function.bytes, function.from_ns,
           function.until_ns};
      Store(
          cpu,
          PointOf(is_timed ? SamplePoint::kTimedSymbol : SamplePoint::kSymbol),
          cpu.last_ns, 0,
          std::span(numbers).first(is_timed ? logformat::kTimedSymbolNumbers
                                            : logformat::kSymbolNumbers),
          {&function.name, 1});
    }
    limits.Return(share.bytes());
  }
}

void SampleStacks::Finish(logformat::TraceInfo& info) {
  StoreJitSymbols();
  for (auto& [number, stream] : streams_) {
    CpuBooks& cpu = records_.CpuOf(number, stream.last_ns);
    for (const auto& [hook, rest] : stream.rest) {
      // What the event counted is not in the file.
      const std::array<std::uint64_t, logformat::kCountNumbers> numbers = {
          hook, 0, rest.first, rest.second, 0, 0};
      Store(cpu, PointOf(SamplePoint::kCount), cpu.last_ns, 0, numbers);
    }
  }
  DescribeUnwound(info);
  for (const std::string& message : jit_symbols_.messages()) {
    info.not_known.push_back(message);
  }
  if (const std::string why = kernel_symbols_.why_not(); !why.empty()) {
    info.not_known.push_back(
        absl::StrFormat("the names of the kernel's functions (%s): %s",
                        logformat::kKernelCode, why));
  }
}

void SampleStacks::DescribeUnwound(logformat::TraceInfo& info) const {
  if (truncated_ != 0) {
    info.not_known.push_back(absl::StrFormat(
        "who called the outermost function of %d stacks of %d: they went on "
        "behind the bytes that perf copied (%s); record with more than "
        "--call-graph dwarf,%d",
        truncated_, unwound_, logformat::kTruncatedStack, stack_bytes_));
  }
  if (other_processor_ && not_unwound_ != 0) {
    info.not_known.push_back(absl::StrFormat(
        "who called the user code that was sampled (%s): the stacks of its "
        "processor (%s) cannot be read on this one; import it there",
        logformat::kStackNotUnwound, base::EscapeName(file_.arch)));
    return;
  }
  // Few are usual: a program is being replaced, its stack is gone.
  if (not_unwound_ <= unwound_ / 100 + 1) return;
  std::string files;
  constexpr std::size_t kMostNamed = 3;
  const auto& missing = mappings_.missing();
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
    files += (i == 0 ? "; not here as they were recorded: " : ", ") +
             base::EscapeName(missing[i]);
  }
  if (missing.size() > kMostNamed) {
    files += absl::StrFormat(" and %d more", missing.size() - kMostNamed);
  }
  info.not_known.push_back(absl::StrFormat(
      "who called the outermost function of %d stacks of %d: no rule of a "
      "file's frames leads on (%s)%s",
      not_unwound_, unwound_, logformat::kStackNotUnwound, files));
}

}  // namespace countrace::importer::perf
