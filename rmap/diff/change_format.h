// Signed numbers and changes as text; the text and the Markdown rendering share
// them.
#ifndef COUNTRACE_RMAP_DIFF_CHANGE_FORMAT_H_
#define COUNTRACE_RMAP_DIFF_CHANGE_FORMAT_H_

#include <string>
#include <vector>

#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// "12.3 ms"; "1,234"; "0.0513" for a mean that is no whole number.
std::string FormatAmount(double value, bool is_time);
// The same; an estimate with half its 95 % interval: "~1,234 +-56".
std::string FormatEstimate(double value, const SamplingError& error,
                           bool is_time);
// Like FormatAmount(), with its sign: "+12.3 ms"; "0".
std::string FormatSigned(double value, bool is_time);
// As parts of before, which the interval is one of: "[+11 %, 2.1x]"; of what
// was not there before: "[+11.5 ms, +13.0 ms]". "any": no end. "": no interval.
std::string FormatInterval(const Change& change, bool is_time);
// "+4.2 %", "2.11x" from twice up, "new", "gone", "0 %".
std::string FormatRatio(double before, double after);
// "95 %"
std::string FormatPercent(double share);
// A change that could be found, as a part: "4.2 %", "<0.1 %", "25x".
std::string FormatDetectable(double part);
// "s", "b", "i" or "", as in reports.
const char* QualityMark(Quality quality);

// "server:request > server:handle"; "(outside segments)". Not escaped.
std::string PathText(const std::vector<std::string>& path);
// The last segment of the path, or "COMMAND outside its segments".
std::string ShortName(const RowChange& row);
std::string ProcessText(const RowChange& row);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_CHANGE_FORMAT_H_
