#pragma once

#include <span>

#include "apps/common/pictures/png.hpp"
#include "scene.hpp"

namespace whilst::elastic {

/// Draws bodies at these positions above their obstacles, with shadows. The camera depends only on the scene's start,
/// so pictures of one scene make a film.
class painter {
 public:
  explicit painter(const scene& start, int width = 960, int height = 720);
  command::image paint(std::span<const double> positions) const;

 private:
  const scene& start_;
  int width_, height_;
};

}  // namespace whilst::elastic
