import BeamMedia

extension PanelStack {
    /// What the size of all panels follows from.
    struct Setting: Hashable {
        var canvas: PixelSize
        /// Scale factor for the display's pixel density.
        var textScale: Double
        var isOverPicture: Bool
        /// The picture of a grid that the captions belong to; nil: the window shows one picture.
        var captionArea: PixelRect?

        /// The text scale, reduced in small windows.
        var scale: Double {
            max(0.5, min(textScale, Double(canvas.width) / 480, Double(canvas.height) / 330))
        }

        /// Of texts in the middle, which may take most of the window, and shrink if that isn't enough.
        var centralScale: Double {
            max(0.5, min(textScale, Double(canvas.width) / 280, Double(canvas.height) / 330))
        }

        /// Codes may be read from farther away, so they grow with the window.
        var codeScale: Double {
            max(centralScale, min(Double(canvas.width) / 960, Double(canvas.height) / 540, 2.5))
        }

        /// So do captions, and they leave more of a small window's picture free than panels do.
        var captionScale: Double {
            let size = captionArea?.size ?? canvas
            let (width, height) = (Double(size.width), Double(size.height))
            return max(0.5, min(textScale, width / 800, height / 450), min(width / 1280, height / 720, 2.5))
        }
    }
}
