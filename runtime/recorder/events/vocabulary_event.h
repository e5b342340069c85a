// Events by the names of vocabularies: of the file that the user gives, then of
// the shipped ones. They are looked up after perf's and libpfm4's names.
//
// Thread: one at a time. The first lookup reads the shipped files.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_VOCABULARY_EVENT_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_VOCABULARY_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/vocabularies/vocabulary.h"
#include "runtime/recorder/events/counter_sets.h"

namespace countrace::runtime {

// A shipped model by its name, or a file. Returns: INVALID_ARGUMENT its mistake
// with its place, or no such model; errors of reading the file.
absl::StatusOr<logformat::Vocabulary> LoadVocabulary(const std::string& name);

// Looks names up in this file, too, for the rest of the program; empty: none.
absl::Status UseEventFile(const std::string& path);

// For `countrace doctor --model`: events are those of this model alone, and its
// rules answer whether they count, not the kernel (counter_trial.h). Errors as
// LoadVocabulary().
absl::Status UseModel(const std::string& name);
// The model of UseModel(); nullptr: this machine.
const logformat::Vocabulary* ModelInUse();

// The number that a PMU of this machine takes for it: perf's raw event, the
// mask in bits 8 and above. `name`: without a modifier. Returns: NOT_FOUND no
// vocabulary has it; FAILED_PRECONDITION one of another machine has it, the
// model in use lacks it, it has no such mask, or Linux takes other numbers.
absl::StatusOr<std::uint64_t> FindRawEvent(std::string_view name);

// The rows of `name`, with or without a modifier, for this machine; empty: not
// known here.
EventRows RowsHere(std::string_view name);

// Whether vocabularies of this machine say that `names` count at once; nullopt:
// they do not have all.
std::optional<bool> PredictTogether(const std::vector<std::string>& names);

// " (counter 2 of group 0, or counter 5)"; empty without rows.
std::string DescribeRows(const EventRows& rows);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_VOCABULARY_EVENT_H_
