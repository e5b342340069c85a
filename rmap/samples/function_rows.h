// Tables of samples: by function, line, file or address, with self and total.
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
#include "rmap/samples/code_places.h"
#include "rmap/samples/sampled_amount.h"
#include "rmap/samples/samples.h"

namespace countrace::rmap {

struct CodeRow {
  std::uint32_t event = 0;  // of Samples::events
  std::uint32_t group = 0;  // SampleChoice::groups
  std::string in;           // "server:handle > syscall:read"; empty: none
  // A name, or a bucket: [kernel], [vdso], [jit], [stripped], [unknown].
  std::string function;
  bool inlined = false;
  std::string dso;            // file of the code
  std::string source;         // kAddress, kLine, kFile: "file.cc:12"
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
  // ShortWaits of an event off CPU; both times are parts of `counted`.
  std::uint64_t shorter = 0, shorter_ns = 0, lost_ns = 0, unseen = 0;
};

// Which samples a table is of.
struct SampleChoice {
  std::vector<bool> chosen = {};  // of Samples::contexts; empty: all
  // By context: rows of different groups are not added up; empty: one group.
  std::vector<std::uint32_t> groups = {};

  bool Has(std::uint32_t context) const {
    return chosen.empty() || chosen[context];
  }
  std::uint32_t GroupOf(std::uint32_t context) const {
    return groups.empty() ? 0 : groups[context];
  }
};

struct CodeTable {
  std::vector<CodeRow> rows;
  std::vector<SampleBooks> books;     // by event
  std::vector<std::string> messages;  // files without names
};

// "server:handle > syscall:read"; empty: nothing was open.
std::string ContextText(const SampleContext& context,
                        const logformat::TraceInfo& info);

// A function has a row for each segment and system call that were open.
CodeTable MakeCodeTable(const Samples& samples,
                        const logformat::TraceInfo& info, CodeBy by,
                        const SampleChoice& choice = {});

std::vector<SampleBooks> SampleBooksOf(const Samples& samples);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_
