// One line of a terminal's screen, written from left to right: fields of a
// fixed width, so that nothing moves while what is in them changes.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_SCREEN_LINE_H_
#define COUNTRACE_VIEWER_REPLAY_SCREEN_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::viewer {

// As SGR parameters (ECMA-48, 8.3.117). Without colour: none.
enum class Style { kPlain, kBold, kDim, kReverse };

class ScreenLine {
 public:
  explicit ScreenLine(std::size_t columns) : left_(columns) {}

  std::size_t left() const { return left_; }
  // Exactly `columns` wide, or what is left of the line: blanks are added, and
  // what is too long is cut at its end, or with `keep_end` at its begin. `text`
  // is safe to print. `hue`: a number for a colour that stays the same; 0:
  // none.
  void Field(std::string_view text, std::size_t columns,
             Style style = Style::kPlain, std::size_t hue = 0,
             bool keep_end = false);
  // Aligned to the right.
  void Number(std::string_view text, std::size_t columns,
              Style style = Style::kPlain);
  void Rest(std::string_view text, Style style = Style::kPlain,
            std::size_t hue = 0, bool keep_end = false) {
    Field(text, left_, style, hue, keep_end);
  }

  // The line, `columns` wide.
  std::string Text(bool color);

 private:
  struct Part {
    std::string text;
    Style style;
    std::size_t hue;
  };
  std::size_t left_;
  std::vector<Part> parts_;
};

// `text` in at most `columns`, with ".." for what was cut.
std::string Shortened(std::string_view text, std::size_t columns,
                      bool keep_end);

// `share` of `columns`, at most all of them.
std::string BarOf(double share, std::size_t columns, char sign);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_SCREEN_LINE_H_
