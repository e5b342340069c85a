// The stacks of perf's samples as records of sample points (FORMAT.md 4.8).
//
// In: samples and mappings, by time. Out: records of CPU streams, by
// CpuRecords. Memory grows with different stacks. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/code/stack_unwinder.h"
#include "logformat/data_areas.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/perf/code_mappings.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/jit_symbols.h"
#include "logformat/import/perf/kernel_symbols.h"
#include "logformat/import/perf/record_reader.h"
#include "logformat/import/perf/sample.h"
#include "logformat/sample_points.h"
#include "logformat/stack_frame.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

class SampleStacks {
 public:
  SampleStacks(const FileDescription& file, const MachineFiles& machine,
               CpuRecords& records, TraceOutput& output);

  // Makes the point of an attribute, if its samples say where they were taken.
  void Prepare(const EventAttribute& attribute, const std::string& name);
  // False: the record is shorter than its fields.
  bool OnMapping(const RawRecord& record);
  void NewProgram(std::int32_t pid);
  void Fork(std::int32_t parent_pid, std::int32_t pid);
  // A thread ends on this CPU, and runs on there for a while.
  void OnExit(const CpuBooks& cpu, std::uint64_t time_ns, std::int32_t pid,
              std::int32_t tid);
  // `misc`: of the sample's record, which says whose code it was taken in.
  // Returns true if a record of it was stored.
  bool OnSample(CpuBooks& cpu, std::uint64_t time_ns,
                const EventAttribute& attribute, const Sample& sample,
                std::uint16_t misc);
  // Behind the last sample: the sums of samples that are stored nowhere else.
  void Finish(logformat::TraceInfo& info);

 private:
  using Frame = logformat::StackFrame;
  // What a stream has defined.
  struct Stream {
    absl::flat_hash_set<std::uint32_t> files;
    absl::flat_hash_map<Frame, std::uint64_t> frames;
    absl::flat_hash_set<std::uint64_t> kernel_symbols;  // by begin
    absl::flat_hash_set<std::uint32_t> areas;
    std::uint64_t last_frame = 0;
    std::uint32_t begun_files = 0;
    // By hook, sums of periods: of no thread, of one that nothing names.
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> rest;
    // The last one that ended here, until another one runs.
    std::int32_t ending_pid = 0, ending_tid = 0;
    std::uint64_t last_ns = 0;
  };

  // Finds the thread of a sample, which has no number while it ends (-1, with
  // or without its process). 0: there is none; -1: nothing names it.
  void FindThread(const CpuBooks& cpu, Stream& stream, std::int32_t& pid,
                  std::int32_t& tid) const;
  std::uint64_t FrameOf(CpuBooks& cpu, Stream& stream, std::uint64_t time_ns,
                        const Frame& frame);
  void Store(CpuBooks& cpu, std::uint32_t hook, std::uint64_t time_ns,
             std::uint64_t ids, std::span<const std::uint64_t> numbers,
             std::span<const std::string> texts = {});
  std::uint32_t PointOf(logformat::SamplePoint point);

  // The frames of a sample, innermost first, to `places_`.
  void FindFrames(const EventAttribute& attribute, const Sample& sample,
                  std::int32_t pid, std::uint16_t misc);
  void Unwind(const EventAttribute& attribute, const Sample& sample,
              std::int32_t pid);
  void DefineKernelSymbol(CpuBooks& cpu, Stream& stream, std::uint64_t time_ns,
                          std::uint64_t address);
  void DefineFile(CpuBooks& cpu, Stream& stream, std::uint64_t time_ns,
                  std::uint32_t file);
  // The number of the area of its data address.
  std::uint64_t AreaOf(CpuBooks& cpu, Stream& stream, std::uint64_t time_ns,
                       const logformat::DataAddress& address);
  std::uint64_t StackPointerOf(const EventAttribute& attribute,
                               const Sample& sample) const;
  void StoreJitSymbols();
  void DescribeUnwound(logformat::TraceInfo& info) const;

  const FileDescription& file_;
  const MachineFiles& machine_;
  CpuRecords& records_;
  TraceOutput& output_;
  CodeMappings mappings_;
  // Null: no event has data addresses.
  std::unique_ptr<logformat::DataAreas> areas_;
  // By attribute; absent: it has no point.
  std::map<const EventAttribute*, std::uint32_t> hooks_;
  std::map<logformat::SamplePoint, std::uint32_t> points_;
  std::map<std::int32_t, Stream> streams_;  // by CPU
  std::vector<base::CodePlace> places_;
  const std::uint32_t kernel_file_;
  KernelSymbols kernel_symbols_;
  JitSymbols jit_symbols_;
  // In code that was made at run time, by file.
  std::map<std::uint32_t, std::set<std::uint64_t>> jit_addresses_;
  // Null: no event has copies of stacks.
  std::unique_ptr<base::StackUnwinder> unwinder_;
  bool other_processor_ = false;  // its registers and rules are not read here
  std::uint64_t unwound_ = 0, truncated_ = 0, not_unwound_ = 0;  // stacks
  std::uint32_t stack_bytes_ = 0;  // the most that was copied
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_
