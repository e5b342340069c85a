#include "rmap/report/report_render.h"

#include "rmap/report/report_views.h"

namespace countrace::rmap {

std::string RenderReport(const Report& report, const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return RenderText(report, options);
    case ReportFormat::kJson:
      return RenderJson(report, options);
    case ReportFormat::kJsonLines:
      return RenderJsonLines(report, options);
    case ReportFormat::kCsv:
      return RenderCsv(report, options);
  }
  return "";
}

}  // namespace countrace::rmap
