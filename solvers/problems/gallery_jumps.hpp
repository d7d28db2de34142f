#pragma once

#include <string>

#include "whilst/problems/gallery.hpp"

namespace whilst::detail {

/// The problems `checkerboard3d:N` and `jumps3d:N`, which make_gallery describes. name: as requested.
template <class T>
gallery_problem<T> checkerboard_3d(index_type size, std::string name);
template <class T>
gallery_problem<T> jumps_3d(index_type size, std::string name);

}  // namespace whilst::detail
