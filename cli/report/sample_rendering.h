// A table of samples with its books: text, JSON, JSON lines, CSV.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_

#include <string>

#include "cli/report/report_request.h"
#include "cli/report/sample_books.h"
#include "cli/report/sample_rows.h"
#include "rmap/result/tables.h"

namespace countrace::cli {

// `report`: with samples. `format` is a value of --format.
ReportAnswer RenderSamples(const rmap::Report& report, const SampleRows& tables,
                           const SampleBooksOfEvents& books,
                           const std::string& format,
                           const rmap::RenderOptions& options);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_RENDERING_H_
