// The limits of a comparison, as sentences.
#ifndef COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_
#define COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_

#include <string>
#include <vector>

#include "rmap/diff/aligned_rows.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::diff {

// Names in the notes are not escaped; the renderings escape them.
std::vector<std::string> NotesOn(const std::vector<Report>& before,
                                 const std::vector<Report>& after,
                                 const ComparedMetrics& compared);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_
