// A table of samples with its books: text, JSON, JSON lines, CSV.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_

#include "cli/report/report_request.h"
#include "cli/report/sample_books.h"
#include "rmap/report/render_options.h"
#include "rmap/result/tables.h"

namespace countrace::cli {

// Requires: report.sample_table.
ReportAnswer RenderSamples(const rmap::Report& report,
                           const SampleBooksOfEvents& books,
                           const rmap::RenderOptions& options);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_
