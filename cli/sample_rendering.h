// A table of samples with its books: text, JSON, JSON lines, CSV.
#ifndef COUNTRACE_CLI_SAMPLE_RENDERING_H_
#define COUNTRACE_CLI_SAMPLE_RENDERING_H_

#include <string>
#include <vector>

#include "cli/report_request.h"
#include "cli/row_table.h"
#include "cli/sample_books.h"
#include "rmap/tables/tables.h"

namespace countrace::cli {

// A table of samples: its columns and rows for people and for programs.
struct SampleRows {
  std::vector<std::string> text_columns, machine_columns;
  std::vector<std::vector<Cell>> text, machine;  // rows
  std::vector<std::string> notes;
};

// `report`: with samples. `format` is a value of --format.
ReportAnswer RenderSamples(const rmap::Report& report, const SampleRows& tables,
                           const SampleBooksOfEvents& books,
                           const std::string& format,
                           const rmap::RenderOptions& options);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_SAMPLE_RENDERING_H_
