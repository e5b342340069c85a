// Dispatches and calls of segments in rmap's order, kept in a file until they
// are read: there may be more of them than memory.
//
// In: a timeline observer's calls. Out: spans in the same order, by their ends.
// Thread: one; writing comes before reading.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_SPOOL_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_SPOOL_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap::babeltrace_plugin {

struct SpooledSpan {
  enum class Kind : std::uint8_t { kDispatch, kSegment };
  // As stored, followed by `values` 64-bit words.
  struct Head {
    Kind kind;
    bool begin_inferred, end_inferred, on_cpu_known, on_cpu_exact;
    std::uint32_t cpu;   // kDispatch
    std::uint32_t path;  // kSegment: index in SpanSpool::paths()
    ThreadIndex thread;
    std::uint64_t begin_ns, end_ns, on_cpu_ns;
    std::uint64_t switches, faults;  // kSegment
    std::uint64_t known;             // bit i: values[i] is known
    std::uint32_t values;
  } head;
  // kDispatch: one for each kernel dump event, or none. kSegment:
  // SegmentSpan::dumps.
  std::vector<std::uint64_t> values;
};

class SpanSpool final : public TimelineObserver {
 public:
  // `directory`: for a file without a name. `info`: the trace's.
  // Errors: RESOURCE_EXHAUSTED, PERMISSION_DENIED.
  static absl::StatusOr<std::unique_ptr<SpanSpool>> Create(
      const std::string& directory, const logformat::TraceInfo& info);
  SpanSpool(const SpanSpool&) = delete;
  SpanSpool& operator=(const SpanSpool&) = delete;
  ~SpanSpool() override;

  // Starts reading at the first span.
  // Errors: RESOURCE_EXHAUSTED: some spans could not be stored.
  absl::Status Rewind();
  // Reads the next span; false: there is none.
  absl::StatusOr<bool> Next(SpooledSpan& span);
  // The path of a call by number: "server:handle > server:parse".
  const std::vector<std::string>& paths() const { return paths_; }
  // The innermost segment of a path.
  const std::string& NameOf(std::uint32_t path) const {
    return names_[path_ends_[path]];
  }

  bool WantsCallCounts() const override { return true; }
  void OnDispatch(const DispatchSpan& span) override;
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;

 private:
  explicit SpanSpool(std::FILE* file) : file_(file) {}
  void Write(const SpooledSpan::Head& head);
  std::uint32_t PathOf(std::uint32_t parent, std::uint32_t hook_id);

  static constexpr std::uint32_t kNoPath = 0;  // number of ""

  std::FILE* file_;
  bool failed_ = false;
  int error_ = 0;
  std::vector<std::uint64_t> values_;
  // Open calls by thread: their paths, outermost first.
  absl::flat_hash_map<ThreadIndex, std::vector<std::uint32_t>> open_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> path_numbers_;
  std::vector<std::string> paths_ = {""};
  std::vector<std::uint32_t> path_ends_ = {0};  // hook id, by path
  std::vector<std::string> names_;              // by hook id
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_SPAN_SPOOL_H_
