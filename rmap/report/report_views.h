// The renderings behind RenderReport(), one file each: report_text.cc,
// report_json.cc, report_csv.cc.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_
#define COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "rmap/report/render_options.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

std::string RenderText(const Report& report, const RenderOptions& options);
// Takes a text in parts of some 64 KiB while its rows are rendered, so that the
// whole is never in memory; only the rest is returned. Empty: all is returned.
using TextParts = std::function<void(std::string_view)>;

// `countrace.report/1`; kDefault: every table; else one table with its trace,
// books and loss.
std::string RenderJson(const Report& report, const RenderOptions& options,
                       const TextParts& parts = {});
// The same as one object a line, each with "table" first.
std::string RenderJsonLines(const Report& report, const RenderOptions& options,
                            const TextParts& parts = {});
// The rows of the table options.by as the objects that these have.
void ForEachJsonRow(
    const Report& report, const RenderOptions& options,
    const std::function<void(const nlohmann::ordered_json&)>& on_row);
// ASCII only, so that no name can control a terminal; bytes that are not UTF-8
// become U+FFFD, since JSON cannot store them. `indent` -1: one line.
std::string DumpJson(const nlohmann::ordered_json& json, int indent);
// One table, RFC 4180 with a header line; kDefault: processes. With
// RenderOptions::bounds, a number that can have an interval has two more
// columns, NAME.lo and NAME.hi; hi empty: no upper limit.
std::string RenderCsv(const Report& report, const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_
