#pragma once

#include <string>

#include "whilst/problems/gallery.hpp"

namespace whilst::detail {

/// The problem `powerlaw:N`, which make_gallery describes. name: as requested.
template <class T>
gallery_problem<T> power_law(index_type size, std::string name);

}  // namespace whilst::detail
