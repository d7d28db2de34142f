#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whilst::command {

/// Red, green and blue, one byte each, row by row from the top.
struct image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// The bytes of a PNG file.
std::string png_of(const image& picture);

/// A PNG file's bytes as a document can embed them: "data:image/png;base64,...".
std::string png_as_address(std::string_view png);

}  // namespace whilst::command
