#include <cstdio>
#include <string>

#include "logformat/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/report_render.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto reader = countrace::logformat::TraceReader::Open(argv[1]);
  if (!reader.ok()) return 1;
  const auto report = countrace::rmap::Reconstruct(**reader, {});
  if (!report.ok()) return 1;
  const std::string text = countrace::rmap::RenderReport(*report, {});
  std::fputs(text.c_str(), stdout);
}
