// Renders a Diff (diff_tables.h): text, JSON `countrace.diff/1`, Markdown.
#ifndef COUNTRACE_RMAP_DIFF_DIFF_RENDER_H_
#define COUNTRACE_RMAP_DIFF_DIFF_RENDER_H_

#include <cstddef>
#include <string>

#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

struct DiffRenderOptions {
  bool all = false;           // also rows and numbers within noise
  std::size_t max_rows = 20;  // call paths, 0 = all; JSON contains all
  bool color = false;         // for text
  std::size_t width = 100;    // for text
};

// Names from the traces are escaped for the format.
std::string RenderDiffText(const Diff& diff, const DiffRenderOptions& options);
std::string RenderDiffMarkdown(const Diff& diff,
                               const DiffRenderOptions& options);
std::string RenderDiffJson(const Diff& diff, const DiffRenderOptions& options);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_DIFF_RENDER_H_
