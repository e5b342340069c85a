// Tables of samples: by function, file or address, with self and total.
//
// In: Samples. Out: rows, most self first, and the books of each sampled event.
// Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/samples/samples.h"

namespace countrace::rmap {

enum class CodeBy : std::uint8_t { kFunction, kDso, kAddress };

// An amount of the event, estimated from samples; `lo` and `hi` hold it in 95
// of 100 recordings: the binomial (Wilson) interval of its share of the hits.
struct SampledAmount {
  std::uint64_t hits = 0;
  std::uint64_t value = 0;  // hits x period
  std::uint64_t lo = 0, hi = 0;
  double share = 0, share_lo = 0, share_hi = 0;  // of all samples of the event
};

struct CodeRow {
  std::uint32_t event = 0;  // of Samples::events
  std::string in;           // "server:handle > syscall:read"; empty: none
  // A name, or a bucket: [kernel], [vdso], [jit], [stripped], [unknown].
  std::string function;
  std::string dso;            // file of the code
  std::string source;         // kAddress: "file.cc:12", empty if not known
  std::uint64_t address = 0;  // kAddress: in the file
  SampledAmount self;         // the innermost frame
  SampledAmount total;        // anywhere in the stack, once
};

// What an event counted on all CPUs, and what its samples say of it. Sums of
// periods, which add up to `counted` but for the residual.
struct SampleBooks {
  std::uint32_t event = 0;
  std::uint64_t counted = 0;
  std::uint64_t processes = 0, idle = 0, outside = 0;
  std::int64_t residual = 0;  // counted minus these
  std::uint64_t per_cpu = 0;  // one period of each CPU: its usual limit
  std::uint64_t hits = 0, lost = 0, throttled = 0, stacks_lost = 0;
};

struct CodeTable {
  std::vector<CodeRow> rows;
  std::vector<SampleBooks> books;     // by event
  std::vector<std::string> messages;  // files without names
};

// The interval of a share with `hits` of `all` samples of equal weight.
void SetShare(double hits, double all, SampledAmount& amount);

// `by_context`: a row for each open segment and system call.
CodeTable MakeCodeTable(const Samples& samples,
                        const logformat::TraceInfo& info, CodeBy by,
                        bool by_context);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_
