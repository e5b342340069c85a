// The files in which OProfile describes a processor: `events`, `unit_masks`
// and, for groups, `event_mappings`.
//
// In: their texts. Out: the same as the text of a vocabulary. Thread: any; no
// state.
#ifndef COUNTRACE_LOGFORMAT_VOCABULARIES_OPROFILE_FILES_H_
#define COUNTRACE_LOGFORMAT_VOCABULARIES_OPROFILE_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace countrace::logformat {

struct OprofileTexts {
  std::string events, unit_masks;
  std::string event_mappings;  // empty: there is no such file
};

// `folder` names the machine by its last two parts, as OProfile's folders do
// (ppc64/power5), and is in messages. ParseVocabulary() accepts what it
// returns. Errors: INVALID_ARGUMENT "FOLDER/FILE:LINE:1: ...".
absl::StatusOr<std::string> OprofileAsVocabulary(const OprofileTexts& texts,
                                                 const std::string& folder);

// The files of `folder`. Returns also: errors of reading them.
absl::StatusOr<OprofileTexts> ReadOprofileFolder(const std::string& folder);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_VOCABULARIES_OPROFILE_FILES_H_
