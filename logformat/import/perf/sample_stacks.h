// The stacks of perf's samples as records of sample points (FORMAT.md 4.8).
//
// In: samples and mappings, by time. Out: records of CPU streams, by
// CpuRecords. Memory grows with different stacks. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/perf/code_mappings.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/record_reader.h"
#include "logformat/import/perf/sample.h"
#include "logformat/sample_points.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

class SampleStacks {
 public:
  SampleStacks(const FileDescription& file, CpuRecords& records,
               TraceOutput& output)
      : file_(file), records_(records), output_(output), mappings_(file) {}

  // Makes the point of an attribute, if its samples say where they were taken.
  void Prepare(const EventAttribute& attribute, const std::string& name);
  CodeMappings& mappings() { return mappings_; }
  // `misc`: of the sample's record, which says whose code it was taken in.
  // Returns true if a record of it was stored.
  bool OnSample(CpuBooks& cpu, std::uint64_t time_ns,
                const EventAttribute& attribute, const Sample& sample,
                std::uint16_t misc);
  // Behind the last sample: the sums of samples that are stored nowhere else.
  void Finish(logformat::TraceInfo& info);

 private:
  struct Frame {
    std::uint64_t parent, address;
    std::uint32_t file;
    bool operator==(const Frame&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Frame& frame) {
      return H::combine(std::move(h), frame.parent, frame.address, frame.file);
    }
  };
  // What a stream has defined.
  struct Stream {
    absl::flat_hash_set<std::uint32_t> files;
    absl::flat_hash_map<Frame, std::uint64_t> frames;
    std::uint64_t last_frame = 0;
    std::uint32_t begun_files = 0;
    std::map<std::uint32_t, std::uint64_t> idle;  // by hook: sum of periods
    std::uint64_t last_ns = 0;
  };

  std::uint64_t FrameOf(CpuBooks& cpu, Stream& stream, std::uint64_t time_ns,
                        const Frame& frame);
  void Store(CpuBooks& cpu, std::uint32_t hook, std::uint64_t time_ns,
             std::uint64_t ids, std::span<const std::uint64_t> numbers,
             std::span<const std::string> texts = {});
  std::uint32_t PointOf(logformat::SamplePoint point);

  const FileDescription& file_;
  CpuRecords& records_;
  TraceOutput& output_;
  CodeMappings mappings_;
  // By attribute; absent: it has no point.
  std::map<const EventAttribute*, std::uint32_t> hooks_;
  std::map<logformat::SamplePoint, std::uint32_t> points_;
  std::map<std::int32_t, Stream> streams_;  // by CPU
  struct Step {
    std::uint64_t address;
    bool in_kernel;
  };
  std::vector<Step> steps_;
  bool stacks_by_dwarf_ = false;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_STACKS_H_
