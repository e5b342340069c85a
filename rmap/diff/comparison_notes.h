// What limits a comparison, in sentences for its reader.
#ifndef COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_
#define COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_

#include <string>
#include <vector>

#include "rmap/tables.h"

namespace countrace::rmap::diff {

// `left_out`: events that not all traces counted. Names in the notes are as in
// the traces: the renderings escape them.
std::vector<std::string> NotesOn(const std::vector<Report>& before,
                                 const std::vector<Report>& after,
                                 const std::vector<std::string>& left_out);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_COMPARISON_NOTES_H_
