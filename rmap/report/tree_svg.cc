#include "rmap/report/tree_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/text/name_escape.h"

namespace countrace::rmap {
namespace {

// In px.
constexpr double kRow = 20, kIndent = 14, kNames = 300, kBars = 460,
                 kFigures = 260, kMargin = 12, kColumns = 320;
constexpr const char* kGrey = "#767676";
// Colours of Okabe and Ito, which people who do not see all hues can tell
// apart.
constexpr std::array<const char*, 8> kFills = {"#0072b2", "#e69f00", "#009e73",
                                               "#cc79a7", "#56b4e9", "#d55e00",
                                               "#f0e442", "#999999"};

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(
      base::EscapeName(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

class Picture {
 public:
  // `fill`: a number; from the 9th on the colours are paler.
  void Rectangle(double x, double y, double width, double height,
                 std::size_t fill, const std::string& title) {
    absl::StrAppendFormat(
        &body_,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
        "fill=\"%s\"%s><title>%s</title></rect>\n",
        x, y, width, height, kFills[fill % kFills.size()],
        fill < kFills.size() ? "" : " fill-opacity=\"0.5\"", Escaped(title));
  }
  void Line(double x1, double y1, double x2, double y2) {
    absl::StrAppendFormat(&body_,
                          "<path d=\"M%.2f %.2fL%.2f %.2f\" "
                          "stroke=\"#000000\" fill=\"none\"/>\n",
                          x1, y1, x2, y2);
  }
  void Text(double x, double y, const std::string& text,
            const char* fill = "#000000") {
    absl::StrAppendFormat(&body_,
                          "<text x=\"%.2f\" y=\"%.2f\" fill=\"%s\">%s</text>\n",
                          x, y, fill, Escaped(text));
  }
  std::string Finish(double width, double height) const {
    return absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#ffffff\"/>\n%s</svg>\n",
        width, height, width, height, body_);
  }

 private:
  std::string body_;
};

std::string NameOf(const TreeRow& row) {
  const std::string& name = row.meaning.empty() ? row.name : row.meaning;
  return row.code.empty() ? name : row.code + " " + name;
}

std::string ValueOf(const TreeRow& row) {
  if (!row.value) return row.absent;
  std::string text = absl::StrFormat("%.4f", *row.value);
  if (row.share) absl::StrAppendFormat(&text, "  %.2f %%", 100 * *row.share);
  if (row.lo && row.hi) {
    absl::StrAppendFormat(&text, "  [%.4f, %.4f]", *row.lo, *row.hi);
  }
  return text;
}

// The bars of one owner. What lies outside of `from` to `to` would not be seen:
// they include 0 and every interval.
std::string Bars(const TreeTable& tree, const std::vector<TreeRow>& rows) {
  double from = 0, to = 0;
  for (const TreeRow& row : rows) {
    for (const auto& one : {row.value, row.lo, row.hi}) {
      from = std::min(from, one.value_or(0));
      to = std::max(to, one.value_or(0));
    }
  }
  const double scale = kBars / (to > from ? to - from : 1);
  const auto x_of = [&](double value) {
    return kMargin + kNames + (value - from) * scale;
  };
  Picture picture;
  double y = kMargin + kRow;
  picture.Text(kMargin, y - 6, tree.title);
  for (const TreeRow& row : rows) {
    picture.Text(kMargin + row.depth * kIndent, y + 14, NameOf(row),
                 row.value ? "#000000" : kGrey);
    if (row.value) {
      const double left = x_of(std::min(0.0, *row.value));
      picture.Rectangle(left, y + 3, x_of(std::max(0.0, *row.value)) - left,
                        kRow - 6, row.depth, row.name);
    }
    if (row.value && row.lo && row.hi) {
      picture.Line(x_of(*row.lo), y + kRow / 2, x_of(*row.hi), y + kRow / 2);
      for (const double end : {*row.lo, *row.hi}) {
        picture.Line(x_of(end), y + 5, x_of(end), y + kRow - 5);
      }
    }
    picture.Text(kMargin + kNames + kBars + 8, y + 14, ValueOf(row),
                 row.value ? "#000000" : kGrey);
    y += kRow;
  }
  picture.Line(x_of(0), kMargin + kRow, x_of(0), y);
  constexpr std::size_t kLine = 160;  // characters that fit
  for (const std::string& message : tree.messages) {
    for (std::string_view rest = message; !rest.empty(); y += kRow) {
      std::size_t end =
          rest.size() <= kLine ? rest.size() : rest.rfind(' ', kLine);
      if (end == std::string_view::npos || end == 0) end = kLine;
      picture.Text(kMargin, y + 14, std::string(rest.substr(0, end)), kGrey);
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
  }
  return picture.Finish(2 * kMargin + kNames + kBars + kFigures, y + kMargin);
}

struct Owner {
  std::string name;
  std::vector<TreeRow> rows;
};

// What has a colour: a part that has none below and a value somewhere. Those
// without one: why, and of how many owners.
struct Parts {
  std::map<std::string, std::size_t> numbers;  // by name
  std::vector<std::string> names;
  std::map<std::string, std::size_t> missing;
};

bool HasParts(const std::vector<TreeRow>& rows, const TreeRow& row) {
  return std::any_of(rows.begin(), rows.end(), [&row](const TreeRow& other) {
    return other.parent == row.name;
  });
}

// Leaves only the leaves.
Parts PartsOf(std::vector<Owner>& owners) {
  Parts parts;
  for (Owner& owner : owners) {
    std::erase_if(owner.rows, [all = owner.rows](const TreeRow& row) {
      return HasParts(all, row);
    });
    for (const TreeRow& row : owner.rows) {
      if (!row.value) {
        ++parts.missing[NameOf(row) + ": " + row.absent];
      } else if (parts.numbers.try_emplace(row.name, parts.names.size())
                     .second) {
        parts.names.push_back(NameOf(row));
      }
    }
  }
  return parts;
}

// The sums of what is below and above zero.
std::pair<double, double> Extent(const Owner& owner) {
  std::pair<double, double> sums;
  for (const TreeRow& row : owner.rows) {
    const double value = row.value.value_or(0);
    (value < 0 ? sums.first : sums.second) += value;
  }
  return sums;
}

std::string Columns(const TreeTable& tree, std::vector<Owner> owners) {
  Parts parts = PartsOf(owners);
  double from = 0, to = 0;
  for (const Owner& owner : owners) {
    from = std::min(from, Extent(owner).first);
    to = std::max(to, Extent(owner).second);
  }
  const double scale = kColumns / (to > from ? to - from : 1);
  const double zero = kMargin + kRow + to * scale;
  const double width = (kNames + kBars) / static_cast<double>(owners.size());
  Picture picture;
  picture.Text(kMargin, kMargin + kRow - 6, tree.title);
  double x = kMargin;
  for (const Owner& owner : owners) {
    double below = zero, above = zero;
    for (const TreeRow& row : owner.rows) {
      if (!row.value) continue;
      const double height = std::abs(*row.value) * scale;
      double& edge = *row.value < 0 ? below : above;
      if (*row.value > 0) edge -= height;
      picture.Rectangle(
          x, edge, width, height, parts.numbers[row.name],
          absl::StrFormat("%s: %s %s", owner.name, NameOf(row), ValueOf(row)));
      if (*row.value < 0) edge += height;
    }
    x += width;
  }
  picture.Line(kMargin, zero, x, zero);
  double y = kMargin + kRow;
  for (std::size_t i = 0; i < parts.names.size(); ++i, y += kRow) {
    picture.Rectangle(x + 8, y + 3, 12, kRow - 6, i, parts.names[i]);
    picture.Text(x + 26, y + 14, parts.names[i]);
  }
  y = std::max(y, kMargin + kRow + kColumns);
  const auto note = [&](const std::string& text) {
    picture.Text(kMargin, y + 14, text, kGrey);
    y += kRow;
  };
  note(absl::StrFormat("%s to %s; %.4f to %.4f", owners.front().name,
                       owners.back().name, from, to));
  for (const auto& [part, count] : parts.missing) {
    note(absl::StrFormat("no value, in %d of %d columns: %s", count,
                         owners.size(), part));
  }
  return picture.Finish(2 * kMargin + kNames + kBars + kFigures, y + kMargin);
}

}  // namespace

std::string RenderTreeSvg(const TreeTable& tree) {
  std::vector<Owner> owners;
  for (const TreeRow& row : tree.rows) {
    if (!row.in_tree) continue;
    if (owners.empty() || owners.back().name != row.owner) {
      owners.push_back({row.owner, {}});
    }
    owners.back().rows.push_back(row);
  }
  if (owners.empty()) return Bars(tree, {});
  return tree.has_owners ? Columns(tree, std::move(owners))
                         : Bars(tree, owners.front().rows);
}

}  // namespace countrace::rmap
