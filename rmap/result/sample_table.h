// The table of samples that a report has instead of its other tables.
//
// Thread: any (plain values).
#ifndef COUNTRACE_RMAP_RESULT_SAMPLE_TABLE_H_
#define COUNTRACE_RMAP_RESULT_SAMPLE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace countrace::rmap {

// An amount of the event, estimated from samples; `lo` and `hi` hold it in 95
// of 100 recordings: the binomial (Wilson) interval of its share of the hits.
// What was counted but has no sample (MissingIn()) may all be of it, so `hi`
// and `share_hi` include it, and shares are of all with it. Exact: each sample
// has its whole amount, and none is missing: both are `value`.
struct SampledAmount {
  std::uint64_t hits = 0;
  std::uint64_t value = 0;  // hits x period
  std::uint64_t lo = 0, hi = 0;
  double share = 0, share_lo = 0, share_hi = 0;  // of all samples of the event
  bool exact = false;
};

// What a table has a row for. From kData on: what data addresses belong to.
enum class SampleBy : std::uint8_t {
  kFunction,
  kDso,
  kAddress,
  kLine,
  kFile,
  kInstruction,
  kInstructionClass,
  kFunctionInstruction,
  kCallTree,
  kCallers,
  kData,
  kDataPage,
  kDataAddress,
  kDataSource
};

constexpr bool IsOfInstructions(SampleBy by) {
  return by >= SampleBy::kInstruction && by <= SampleBy::kFunctionInstruction;
}

// A row has what its table is by; the other texts are empty.
struct SampleRow {
  std::uint32_t event = 0;  // of Samples::events
  std::uint32_t group = 0;  // of SampleTable::groups
  std::uint32_t depth = 0;  // in a tree of calls
  bool inlined = false;
  std::string in = {};  // "server:handle > syscall:read"; empty: none
  // A name, or a bucket: [kernel], [vdso], [jit], [stripped], [unknown].
  std::string function = {};
  std::string dso = {};     // file of the code, or that data is mapped from
  std::string source = {};  // kAddress, kLine, kFile: "file.cc:12"
  // Mnemonic's name and kind, or a bucket: of the name, of kInstructionClass of
  // the kind.
  std::string instruction = {}, instruction_class = {};
  std::uint64_t address = 0;  // kAddress: in the file; of data, in its process
  // A global object, a kind of memory with its range if that says which, or a
  // bucket: [heap], [stack], [code], [no symbol], [file], [kernel], [unknown],
  // [no address].
  std::string data = {};
  std::string of = {};  // whose memory: "server 812"; a stack's thread
  std::uint64_t data_source = 0;  // kDataSource: DecodeDataSource()
  // Samples of which it is the innermost frame (in trees: the whole path; of
  // callers: of which the path begins there), or all of its data.
  SampledAmount self = {};
  SampledAmount total = {};   // anywhere in the stack, once
  std::uint64_t weights = 0;  // of data: sum of the samples'; 0: it has none
};

// Whose samples are in the rows of a group; absent: not in the trace.
struct SampleGroup {
  std::optional<std::string> name;
  std::optional<std::uint64_t> pid, tid;
};

struct SampleTable {
  SampleBy by = SampleBy::kFunction;
  std::string group_by =
      {};                   // thread, process, comm, user, cgroup; empty: none
  bool without_in = false;  // samples are added up over SampleRow::in
  std::vector<SampleGroup> groups = {};
  std::vector<SampleRow> rows = {};
  std::uint64_t left_out = 0;  // rows of a tree below the least share
  std::vector<std::string> messages = {};  // files without names

  bool is_tree() const {
    return by == SampleBy::kCallTree || by == SampleBy::kCallers;
  }
  bool has_in() const { return !without_in && !is_tree(); }
  // It has innermost frames alone: what called is no sampled instruction.
  bool of_instructions() const { return IsOfInstructions(by); }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_SAMPLE_TABLE_H_
