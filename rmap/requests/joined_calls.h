// Requests: the calls and points of all threads that carry the same value.
//
// What a call of these hooks has inside is part of it, whatever values that
// has. In: the spans of a reconstruction, and its records (NotedReader). Out:
// the calls by request. Memory: by calls, at most kMostCalls. Thread: one.
#ifndef COUNTRACE_RMAP_REQUESTS_JOINED_CALLS_H_
#define COUNTRACE_RMAP_REQUESTS_JOINED_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/requests/join_rule.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// A call, or a point, which lasts 0 ns.
struct RequestCall {
  std::uint32_t request;
  ThreadIndex thread;
  std::uint32_t hook_id;
  bool is_point, end_inferred, on_cpu_exact;
  // Else records of its thread were lost before: it may be inside a call that
  // is not known, and so part of another request, or of none.
  bool is_sure;
  std::uint64_t begin_ns, end_ns;
  std::uint64_t on_cpu_ns, wait_ns, blocked_ns;
};

struct LostTime {
  std::uint64_t begin_ns, end_ns;
};

// `lost`: by begin, apart.
bool Touches(const std::vector<LostTime>& lost, std::uint64_t begin_ns,
             std::uint64_t end_ns);

struct Requests {
  // By request, each by begin. Requests are numbered by their begin.
  std::vector<RequestCall> calls;
  struct Of {
    std::string id;
    std::size_t first_call;
  };
  std::vector<Of> all;
  // By begin, apart. Calls may be among lost records, or were left out.
  std::vector<LostTime> lost;
  std::vector<LostTime> lost_of_cpus;  // wake-ups, too, may be among these
  bool has_kernel = false;             // on-CPU time and waits are known
  bool has_wakeups = false;            // blocked time is, too
  // Calls of the hooks that are in no request: their enter is not recorded, or
  // has no value.
  std::uint64_t without_value = 0;
  std::uint64_t left_out = 0;  // calls beyond kMostCalls, the last to end

  // Calls of request `number`.
  const RequestCall* begin(std::size_t number) const {
    return calls.data() + all[number].first_call;
  }
  const RequestCall* end(std::size_t number) const {
    return number + 1 < all.size() ? begin(number + 1)
                                   : calls.data() + calls.size();
  }
};

// A number and what holds the truth.
struct RequestNumber {
  std::uint64_t value = 0, least = 0, most = 0;
  bool is_exact() const { return least == most; }
};

// What a request is, from its calls. If `Requests::lost` is not empty, any may
// have had more, and only `least` counts.
struct RequestSums {
  std::uint64_t begin_ns, end_ns;
  RequestNumber duration_ns = {};
  RequestNumber on_cpu_ns = {}, wait_ns = {}, blocked_ns = {};
  RequestNumber calls = {};      // and points
  std::uint64_t between_ns = 0;  // none of its calls is open
  std::uint32_t threads = 0;
  bool end_inferred = false;  // of one of its calls
  bool lost_inside = false;   // records were lost between its begin and end
};
RequestSums SumsOf(const Requests& requests, std::size_t number);
// The times of this call are exact.
bool IsExact(const Requests& requests, const RequestCall& call);

inline constexpr std::size_t kMostCalls = std::size_t{1} << 20;

// Reads the trace once. Errors: of JoinValues::Bind(), of Reconstruct();
// CANCELLED `progress` returned false.
absl::StatusOr<Requests> JoinCalls(logformat::TraceReader& reader,
                                   const JoinRule& rule,
                                   const logformat::ProgressCallback& progress,
                                   std::size_t most_calls = kMostCalls);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REQUESTS_JOINED_CALLS_H_
