// YCbCr planes to RGB, each pixel of the picture becoming a square of `magnification` pixels a side.

uniform sampler2D plane0;  // Y, or all of an RGB picture
uniform sampler2D plane1;  // Cb
uniform sampler2D plane2;  // Cr
uniform bool isRGB;
uniform bool isHalved;  // chroma has half the width and height, and sits in the centre of its four pixels
uniform mat3 toRGB;        // samples and results in 0…1
uniform vec3 toRGBOffset;
uniform float brightness;

uniform ivec2 viewport;       // its lower left corner in the window
uniform int viewportHeight;
uniform int magnification;

out vec4 colour;

// Linear between the four samples around a pixel. Not left to the texture unit, whose weights some implementations
// round so coarsely that it shows.
float chroma(sampler2D plane, ivec2 pixel) {
    if (!isHalved) return texelFetch(plane, pixel, 0).r;
    ivec2 last = textureSize(plane, 0) - 1;
    vec2 place = vec2(pixel) * 0.5 - 0.25;
    ivec2 low = ivec2(floor(place));
    vec2 share = place - vec2(low);
    ivec2 high = min(low + 1, last);
    low = max(low, ivec2(0));
    float upper = mix(texelFetch(plane, low, 0).r, texelFetch(plane, ivec2(high.x, low.y), 0).r, share.x);
    float lower = mix(texelFetch(plane, ivec2(low.x, high.y), 0).r, texelFetch(plane, high, 0).r, share.x);
    return mix(upper, lower, share.y);
}

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy) - viewport;
    pixel = ivec2(pixel.x, viewportHeight - 1 - pixel.y) / magnification;
    vec3 sampled = texelFetch(plane0, pixel, 0).rgb;
    if (isRGB) {
        colour = vec4(sampled * brightness, 1.0);
        return;
    }
    vec3 ycbcr = vec3(sampled.r, chroma(plane1, pixel), chroma(plane2, pixel));
    colour = vec4(clamp(toRGB * ycbcr + toRGBOffset, 0.0, 1.0) * brightness, 1.0);
}
