// The sum of a range of intervals: busy time, count, and the dominant key. Sums
// are exact; the sketch bounds its error (file_layout.h).
#ifndef COUNTRACE_VIEWER_INDEX_FILE_INTERVAL_SUMMARY_H_
#define COUNTRACE_VIEWER_INDEX_FILE_INTERVAL_SUMMARY_H_

#include <cstdint>

#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Adds `share_ns` of `key` to a sketch, Misra-Gries.
void SketchAdd(SketchEntry (&sketch)[kSketchEntries], std::uint32_t key,
               float share_ns);
// Adds every entry of `other`.
void SketchMerge(SketchEntry (&sketch)[kSketchEntries],
                 const SketchEntry (&other)[kSketchEntries]);
// Key with the largest share; kNoKey if the sketch is empty.
std::uint32_t SketchTop(const SketchEntry (&sketch)[kSketchEntries]);

// An empty node, neutral in MergeNodes.
IntervalNode EmptyNode();
// Adds `wall_ns` of a leaf with these flags (the part inside the range).
void AddLeaf(IntervalNode& node, std::uint32_t key, std::uint32_t flags,
             std::uint64_t wall_ns);
IntervalNode MergeNodes(const IntervalNode& left, const IntervalNode& right);

// The column of a strip for the summary of `width_ns` of a row. Without
// kColumnInferred.
StripColumn ColumnOf(const IntervalNode& node, std::uint64_t width_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_INTERVAL_SUMMARY_H_
