#pragma once

#include <array>
#include <cmath>

namespace whilst::elastic {

using vec3 = std::array<double, 3>;

inline vec3 operator+(const vec3& a, const vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline vec3 operator-(const vec3& a, const vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline vec3 operator*(double s, const vec3& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const vec3& a, const vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline vec3 cross(const vec3& a, const vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double length(const vec3& a) { return std::sqrt(dot(a, a)); }
inline vec3 normalized(const vec3& a) { return 1 / length(a) * a; }

}  // namespace whilst::elastic
