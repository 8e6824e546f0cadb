// Scaling in two passes, each along one axis. With ACROSS: the planes become one texture of YCbCr as wide as the viewport
// and as high as the picture. Without: that texture becomes RGB in the window.
//
// Enlarging weighs four neighbours by the Catmull-Rom spline, which keeps edges sharp. Reducing takes the mean of what
// lies under a pixel, each source pixel by its share, so that no line is lost.

uniform float ratio;  // source pixels for each pixel of the result
uniform int count;    // source pixels along the axis

#ifdef ACROSS
uniform sampler2D plane0;  // Y, or all of an RGB picture
uniform sampler2D plane1;  // Cb, linear between samples
uniform sampler2D plane2;  // Cr, likewise
uniform bool isRGB;
uniform vec2 chromaScale;  // from the picture's pixels to the chroma planes' texture coordinates
#else
uniform sampler2D scaled;
uniform bool isRGB;
uniform mat3 toRGB;  // samples and results in 0…1
uniform vec3 toRGBOffset;
uniform float brightness;
uniform float saturation;  // 0: grey, 1: in full colour
uniform ivec2 viewport;  // its lower left corner in the window
uniform int viewportHeight;
#endif

out vec4 colour;

float weight(float away) {
    if (ratio > 1.0) return clamp(ratio * 0.5 + 0.5 - away, 0.0, 1.0);
    if (away < 1.0) return (1.5 * away - 2.5) * away * away + 1.0;
    if (away < 2.0) return ((-0.5 * away + 2.5) * away - 4.0) * away + 2.0;
    return 0.0;
}

vec3 fetch(int along, int other) {
#ifdef ACROSS
    ivec2 pixel = ivec2(along, other);
    vec3 sampled = texelFetch(plane0, pixel, 0).rgb;
    if (isRGB) return sampled;
    // Chroma sits in the centre of the pixels it stands for, so a pixel's centre scales without an offset.
    vec2 chroma = (vec2(pixel) + 0.5) * chromaScale;
    return vec3(sampled.r, texture(plane1, chroma).r, texture(plane2, chroma).r);
#else
    return texelFetch(scaled, ivec2(other, along), 0).rgb;
#endif
}

vec3 resample(int place, int other) {
    float centre = (float(place) + 0.5) * ratio - 0.5;
    float reach = ratio > 1.0 ? ratio * 0.5 + 0.5 : 2.0;
    int first = int(ceil(centre - reach));
    int last = int(floor(centre + reach));
    vec3 sum = vec3(0.0);
    float total = 0.0;
    for (int i = first; i <= last; i++) {
        float share = weight(abs(float(i) - centre));
        sum += share * fetch(clamp(i, 0, count - 1), other);
        total += share;
    }
    return clamp(sum / total, 0.0, 1.0);
}

void main() {
#ifdef ACROSS
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    colour = vec4(resample(pixel.x, pixel.y), 1.0);
#else
    ivec2 pixel = ivec2(gl_FragCoord.xy) - viewport;
    pixel.y = viewportHeight - 1 - pixel.y;
    vec3 ycbcr = resample(pixel.y, pixel.x);
    vec3 rgb = isRGB ? ycbcr : clamp(toRGB * ycbcr + toRGBOffset, 0.0, 1.0);
    rgb = mix(vec3(dot(rgb, vec3(0.2126, 0.7152, 0.0722))), rgb, saturation);
    colour = vec4(rgb * brightness, 1.0);
#endif
}
