// Requests: the calls and points of all threads that carry the same value.
//
// What a call of these hooks has inside is part of it, whatever values that
// has. In: the spans of a reconstruction, and its records (NotedReader). Out:
// the calls by request. Memory: by calls, at most kMostCalls, and 64 bytes of
// values each. Thread: one.
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

// A call, a part of it (SegmentSpan), or a point, which lasts 0 ns.
struct RequestCall {
  std::uint32_t request;
  ThreadIndex thread;
  std::uint32_t hook_id;
  bool is_point, end_inferred, on_cpu_exact;
  bool goes_on;  // a later part: of the same call as one before
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

// A number and what holds the truth.
struct RequestNumber {
  std::uint64_t value = 0, least = 0, most = 0;
  bool is_exact() const { return least == most; }
};

// What a request is, from its calls.
struct RequestSums {
  std::uint64_t begin_ns, end_ns;
  RequestNumber duration_ns = {};
  RequestNumber on_cpu_ns = {}, wait_ns = {}, blocked_ns = {};
  RequestNumber calls = {};      // and points
  std::uint64_t between_ns = 0;  // none of its calls is open
  std::uint32_t threads = 0;
  bool end_inferred = false;   // of one of its calls
  bool lost_inside = false;    // records were lost between its begin and end
  bool may_have_more = false;  // calls that are not known: only `least` counts
};

struct Requests {
  // By request, each by begin. Requests are numbered by their begin.
  std::vector<RequestCall> calls;
  struct Of {
    std::string id;
    std::size_t first_call;
  };
  std::vector<Of> all;
  std::vector<RequestSums> sums;  // of each
  // By begin, apart. Calls may be among lost records, or were left out: any
  // request may have had more.
  std::vector<LostTime> lost;
  // The last end of a call whose enter was before the trace, which may be of
  // any request that began until then; 0: there is none.
  std::uint64_t begun_before_until_ns = 0;
  std::vector<LostTime> lost_of_cpus;  // wake-ups, too, may be among these
  bool has_kernel = false;             // on-CPU time and waits are known
  bool has_wakeups = false;            // blocked time is, too
  // Calls of the hooks that are in no request: their enter is not recorded, or
  // has no value. (Those inside of the latter are.)
  std::uint64_t without_value = 0;
  std::uint64_t left_out = 0;  // calls beyond the limits, the last to end

  // Calls of request `number`.
  const RequestCall* begin(std::size_t number) const {
    return calls.data() + all[number].first_call;
  }
  const RequestCall* end(std::size_t number) const {
    return number + 1 < all.size() ? begin(number + 1)
                                   : calls.data() + calls.size();
  }
};

// Computes `Requests::sums` of one.
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
