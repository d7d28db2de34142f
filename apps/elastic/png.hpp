#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace whilst::elastic {

/// Red, green and blue, a byte each, row by row from the top.
struct image {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// The bytes of a PNG file.
std::string png_of(const image& picture);

}  // namespace whilst::elastic
